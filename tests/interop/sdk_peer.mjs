// A receiver as the official packages make it, which knows nothing of ackbox: it gives what comes to its package, writes
// each new id to a ledger, and answers one of the 2xx. What the package refuses gets a 400, and is counted.
//
//   node sdk_peer.mjs cloudevents|standardwebhooks|svix LEDGER PORT    prints {"port":N}; the secret is in
//                                                                     ACKBOX_INTEROP_SECRET
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { HTTP } from 'cloudevents';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';

const [kind, ledger, port] = process.argv.slice(2);
const secret = process.env.ACKBOX_INTEROP_SECRET;

// Each gives the id and the data.
const packages = {
  // In whatever mode it comes.
  cloudevents: (headers, body) => {
    const event = HTTP.toEvent({ headers, body });
    event.validate();
    return { id: event.id, data: event.data };
  },
  standardwebhooks: (headers, body) => ({ id: headers['webhook-id'], data: new StandardWebhook(secret).verify(body, headers).data }),
  svix: (headers, body) => ({ id: headers['webhook-id'], data: new SvixWebhook(secret).verify(body, headers).data }),
};
const take = packages[kind];
const statuses = [200, 201, 202, 204, 299];
const known = new Set(existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line).id) : []);
let count = 0;

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    try {
      const { id, data } = take(request.headers, Buffer.concat(chunks).toString('utf8'));
      if (!known.has(id)) {
        // The effect, which a kill leaves whole or undone.
        appendFileSync(ledger, `${JSON.stringify({ id, session: data.session, number: data.number })}\n`);
        known.add(id);
      }
      count += 1;
      response.writeHead(statuses[count % statuses.length]).end();
    } catch (error) {
      appendFileSync(`${ledger}.refused`, `${error}\n`);
      response.writeHead(400, { 'content-type': 'text/plain' }).end(String(error));
    }
  });
});
server.listen(Number(port), '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`));
