"""Calls every operation of a running service with the client that openapi-python-client makes of its document.

Usage: openapi_python_client.py ADDRESS TOKEN
"""

import importlib
import json
import sys

from nqueens_openapi_python_client import AuthenticatedClient, Client, models

address, token = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=token)
# Its code names a variable `d`, which a property of that name overwrites: there only the JSON can be had.
RAW = {"trace"}
ARGUMENTS = {
    "verify": {"body": models.VerifyQuestion(b=[2, 4, 1, 3])},
    "complete": {"body": models.CompleteQuestion(b=[2, 0, 0, 0])},
}


def call(tag, name, client=client, **arguments):
    name = "list_" if name == "list" else name
    module = importlib.import_module(f"nqueens_openapi_python_client.api.{tag}.{name}")
    if name in RAW:
        return client.get_httpx_client().request(**module._get_kwargs(**arguments)).raise_for_status().json()
    answer = module.sync_detailed(client=client, **arguments)
    return answer if answer.parsed is None else answer.parsed


document = call("service", "openapi_json")
assert call("jobs", "put", n=22).state in ("queued", "running")
answers = {}
for item in document["paths"].values():
    for operation in item.values():
        tag, name = operation["tags"][0], operation["operationId"]
        in_path = [parameter for parameter in operation.get("parameters", []) if parameter["in"] == "path"]
        sizes = {"n": 22 if tag == "jobs" else 8}
        arguments = ARGUMENTS.get(name, {it["name"]: sizes.get(it["name"]) or it["example"] for it in in_path})
        answers[name] = call(tag, name, **arguments)

assert answers["solve"].steps.try_ == 113, answers["solve"]
assert answers["count"].count == 92
assert answers["trace"]["events"][0] == {"i": 0, "op": "try", "row": 1}
assert answers["verify"].valid and answers["verify"].symmetry.orbit == 2
assert answers["complete"].solutions == [[2, 4, 1, 3]]
assert answers["get"].state in ("queued", "running") and answers["cancel"].state == "cancelled"
assert answers["events"].startswith("id: cancelled\ndata: {")
assert answers["openapi_yaml"].content.startswith(b"openapi: ")
refused = call("jobs", "put", n=22, client=Client(base_url=address))
assert refused.type_ == "urn:nqueens:problem:unauthorized", refused
missing = call("jobs", "cancel", n=21)
assert missing.type_ == "urn:nqueens:problem:no-such-job", missing
print(f"openapi-python-client: {len(answers)} operations")
