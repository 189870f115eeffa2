// What both directions share: the schemas of proto/ under Ajv, and other people's verification of signatures.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';

const proto = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../proto');
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
addFormats(ajv);
const schema = (name) => JSON.parse(readFileSync(path.join(proto, 'schemas', `${name}.schema.json`), 'utf8'));
const frameSchema = ajv.compile(schema('frame'));
const validators = {
  frame: frameSchema,
  batch: ajv.compile(schema('batch')),
  ack: ajv.compile(schema('ack')),
  ack_event: ajv.compile(schema('ack_event')),
  problem: ajv.compile(schema('problem')),
  agenium_frame: ajv.compile(schema('agenium_frame')),
  agenium_answer: ajv.compile(schema('agenium_answer')),
};

// Throws when `document` is not what its schema says.
export function conform(name, document) {
  if (!validators[name](document)) {
    throw new Error(`not a ${name}: ${ajv.errorsText(validators[name].errors)} in ${JSON.stringify(document).slice(0, 300)}`);
  }
}

export const vectorsFolder = path.join(proto, 'vectors');

// Both libraries must agree that the signature holds; throws otherwise.
export function verify(secret, body, headers) {
  const picked = {
    'webhook-id': headers['webhook-id'] ?? '',
    'webhook-timestamp': headers['webhook-timestamp'] ?? '',
    'webhook-signature': headers['webhook-signature'] ?? '',
  };
  new StandardWebhook(secret).verify(body, picked);
  new SvixWebhook(secret).verify(body, picked);
}

export function sign(secret, id, date, body) {
  return new StandardWebhook(secret).sign(id, date, body);
}

export function refusedByLibraries(secret, body, headers) {
  try {
    verify(secret, body, headers);
    return false;
  } catch {
    return true;
  }
}

// The headers of a signed message.
export function signed(key, id, type, body, date = new Date()) {
  return {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(date.getTime() / 1000)),
    'webhook-signature': sign(key, id, date, body),
  };
}

export function finish(report) {
  process.stdout.write(JSON.stringify(report) + '\n');
}
