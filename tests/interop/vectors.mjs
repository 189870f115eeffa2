// The golden messages of proto/vectors, looked at by other people's software: each body by its schema, each signature by
// both libraries.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CloudEvent, HTTP } from 'cloudevents';
import { conform, finish, sign, vectorsFolder } from './peer.mjs';

const read = (name) => readFileSync(path.join(vectorsFolder, name), 'utf8');
const { whsec } = JSON.parse(read('signatures.json'));
const schemas = {
  'request_single.json': 'frame', 'request_batch.json': 'batch', 'ack_event.json': 'frame',
  'agenium_event.json': 'agenium_frame', 'agenium_ack.json': 'agenium_frame', 'agenium_answer.json': 'agenium_answer',
  'answer_single.json': 'ack', 'ack_document.json': 'ack', 'problem.json': 'problem',
};
const report = { messages: 0, agreed: 0, problems: [] };
for (const { headers, body: name } of JSON.parse(read('messages.json'))) {
  report.messages += 1;
  try {
    const body = read(name);
    if (schemas[name]) {
      conform(schemas[name], JSON.parse(body));
    } else {
      new CloudEvent(HTTP.toEvent({ headers, body })).validate();
    }
    if (name === 'ack_event.json') {
      conform('ack_event', JSON.parse(body).data);
    }
    const date = new Date(Number(headers['webhook-timestamp']) * 1000);
    if (!headers['webhook-signature'].split(' ').includes(sign(whsec, headers['webhook-id'], date, body))) {
      throw new Error('another signature');
    }
    report.agreed += 1;
  } catch (error) {
    report.problems.push(`${name}: ${error}`);
  }
}
finish(report);
