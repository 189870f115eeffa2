// What mainstream clients make of each form of an answer in answers.json: curl, Node's http and fetch, Python's http.client,
// one after the other, against a server on loopback that says it to each connection.
//
//   node measure.mjs           prints where this machine's clients differ from what answers.json has; status 1 if any does
//   node measure.mjs --write   writes that into answers.json, and the table into README.md
//
// A client is given two seconds. `200, then error`: the program gets the status, and then an error.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));
const patience = 2000;
const forms = JSON.parse(readFileSync(path.join(folder, 'answers.json'), 'utf8'));

const python = `
import http.client, sys
said = ''
try:
  client = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=2)
  client.request('POST', '/', b'{}')
  answer = client.getresponse()
  said = str(answer.status)
  answer.read(100000000)
except TimeoutError:
  said += (', then ' if said else '') + 'no end'
except Exception:
  said += (', then ' if said else '') + 'error'
print(said)
`;
const behind = (status, what) => (status ? `${status}, then ${what}` : what);

const clients = {
  curl: (port) => new Promise((resolve) => {
    const words = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-m', String(patience / 1000), '--data', '{}', `http://127.0.0.1:${port}/`];
    execFile('curl', words, (error, out) => {
      const status = Number(out) ? String(Number(out)) : '';
      resolve(error ? behind(status, error.code === 28 ? 'no end' : 'error') : status);
    });
  }),
  node: (port) => new Promise((resolve) => {
    let status = '';
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent: false }, (response) => {
      status = String(response.statusCode);
      response.on('data', () => {});
      response.on('end', () => end(status));
      response.on('error', () => end(behind(status, 'error')));
    });
    const timer = setTimeout(() => end(behind(status, 'no end')), patience);
    const end = (what) => {
      clearTimeout(timer);
      resolve(what);
      request.destroy();
    };
    request.on('upgrade', (response) => end(String(response.statusCode)));
    request.on('error', () => end(behind(status, 'error')));
    request.end('{}');
  }),
  fetch: async (port) => {
    let status = '';
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(), patience);
    try {
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}', signal: control.signal });
      status = String(response.status);
      await response.arrayBuffer();
      return status;
    } catch {
      return behind(status, control.signal.aborted ? 'no end' : 'error');
    } finally {
      clearTimeout(timer);
    }
  },
  python: (port) => new Promise((resolve) => {
    execFile('python3', ['-c', python, String(port)], (error, out) => resolve(out.trim() || 'error'));
  }),
};

// A server for one client: what keeps connections cannot mix them up.
async function face(form, client) {
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    const say = (text) => new Promise((resolve) => { socket.write(Buffer.from(text, 'latin1'), resolve); });
    let heard = '';
    const hear = async (bytes) => {
      heard += bytes.toString('latin1');
      if (!heard.includes('\r\n\r\n') || !heard.endsWith('{}')) {
        return;
      }
      socket.off('data', hear);
      await say(form.bytes);
      for (let count = form.filler?.count ?? 0; count > 0 && !socket.destroyed; count -= 1) {
        await say(form.filler.text);
      }
      await say(form.filler?.end ?? '');
      if (form.then === 'close') {
        socket.end();
      } else if (form.then === 'reset') {
        setTimeout(() => socket.resetAndDestroy(), 50);
      }
    };
    socket.on('data', hear);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const result = await client(server.address().port);
  sockets.forEach((socket) => socket.destroy());
  server.close();
  return result;
}

let differing = 0;
for (const form of forms) {
  for (const [name, client] of Object.entries(clients)) {
    const result = await face(form, client);
    if (form[name] !== result) {
      differing += 1;
      console.log(`${form.form}: ${name}: ${result} instead of ${form[name]}`);
    }
    form[name] = result;
  }
}
if (process.argv[2] === '--write') {
  writeFileSync(path.join(folder, 'answers.json'), `${JSON.stringify(forms, null, 1)}\n`);
  const columns = ['form', 'curl', 'node', 'fetch', 'python', 'webhook', 'native'];
  const rows = forms.map((form) => `| ${columns.map((name) => form[name]).join(' | ')} | ${form.kept ? 'kept' : 'closed'} | ${form.why} |\n`);
  const readme = path.join(folder, 'README.md');
  const [before] = readFileSync(readme, 'utf8').split(/^\| as the RFC/m);
  writeFileSync(readme, before + rows.join(''));
} else {
  process.exitCode = differing ? 1 : 0;
}
