"""Calls every operation of a running service with the Python client that openapi-generator makes of its document.

Usage: openapi_generator.py ADDRESS TOKEN
"""

import json
import sys

import nqueens_openapi_generator as made

address, token = sys.argv[1:]
# The generator takes the document's relative server for a host's name, so the address has to be told.
client = made.ApiClient(made.Configuration(host=address, access_token=token))
# Where an answer is neither JSON nor text of some kind, only the bytes can be had.
RAW = {"openapi_yaml"}
ARGUMENTS = {
    "verify": {"verify_question": made.VerifyQuestion(b=[2, 4, 1, 3])},
    "complete": {"complete_question": made.CompleteQuestion(b=[2, 0, 0, 0])},
}


def call(tag, name, **arguments):
    return getattr(getattr(made, f"{tag.capitalize()}Api")(client), name)(**arguments)


document = json.loads(call("service", "openapi_json_without_preload_content").data)
assert call("jobs", "put", n=22).state in ("queued", "running")
answers = {}
for item in document["paths"].values():
    for operation in item.values():
        tag, name = operation["tags"][0], operation["operationId"]
        in_path = [parameter for parameter in operation.get("parameters", []) if parameter["in"] == "path"]
        sizes = {"n": 22 if tag == "jobs" else 8}
        arguments = ARGUMENTS.get(name, {it["name"]: sizes.get(it["name"]) or it["example"] for it in in_path})
        answers[name] = call(tag, name + ("_without_preload_content" if name in RAW else ""), **arguments)

assert answers["solve"].steps.var_try == 113, answers["solve"]
assert answers["count"].count == 92
assert answers["verify"].valid and answers["verify"].symmetry.orbit == 2
assert answers["complete"].solutions == [[2, 4, 1, 3]]
assert answers["get"].state in ("queued", "running") and answers["cancel"].state == "cancelled"
assert answers["events"].startswith("id: cancelled\ndata: {")
assert answers["openapi_yaml"].data.startswith(b"openapi: ")
# One value of `format` beside JSON: the bytes are the answer, and it is asked for by name.
drawn = call("boards", "solve_without_preload_content", n=4, format="text")
assert drawn.data.startswith(b"4 . . Q .\n"), drawn.data
try:
    call("boards", "solve", n=0)
    raise AssertionError("the generated client has bounds")
except ValueError:
    pass
try:
    call("jobs", "cancel", n=21)
    raise AssertionError("nobody asked for it")
except made.exceptions.NotFoundException as error:
    assert error.data.type == "urn:nqueens:problem:no-such-job", error
print(f"openapi-generator: {len(answers)} operations")
