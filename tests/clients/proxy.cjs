// A proxy that takes the path prefix /nq off, as many stand before a service. It may cut the first stream of events
// after its first piece, and keeps what it was asked.
const http = require('node:http');

exports.proxy = async (service, { cutting = false } = {}) => {
  const requests = [];
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith('/nq/')) return response.writeHead(404).end();
    requests.push(request);
    const onward = http.request(service + request.url.slice('/nq'.length), { method: request.method, headers: request.headers });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      if (!cutting || answer.headers['content-type'] !== 'text/event-stream') return answer.pipe(response);
      cutting = false;
      answer.once('data', (piece) => response.write(piece, () => response.destroy()));
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const close = () => { server.close(); server.closeAllConnections(); };
  return { address: `http://127.0.0.1:${server.address().port}`, requests, close };
};
