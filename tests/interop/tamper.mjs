// What must be refused: each a change of a signed message `{id, type, headers, body}` that would be accepted.
import { signed } from './peer.mjs';

const seconds = (date) => String(Math.floor(date.getTime() / 1000));
const flip = (text, at) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
const hours = (count) => new Date(Date.now() + count * 3600e3);

export function tamperings(secret) {
  return [
    ['a byte of the body changed', (r) => { r.body = r.body.replace('"id"', '"ie"'); }],
    ['a space added at the end', (r) => { r.body += ' '; }],
    ['a line end added at the end', (r) => { r.body += '\n'; }],
    ['a space added in front', (r) => { r.body = ` ${r.body}`; }],
    ['the last byte missing', (r) => { r.body = r.body.slice(0, -1); }],
    ['the first byte missing', (r) => { r.body = r.body.slice(1); }],
    ['the body empty', (r) => { r.body = ''; }],
    ['the body twice', (r) => { r.body += r.body; }],
    ['another body', (r) => { r.body = '{"another":"body"}'; }],
    ['the id changed', (r) => { r.headers['webhook-id'] += 'x'; }],
    ['the id shortened', (r) => { r.headers['webhook-id'] = r.headers['webhook-id'].slice(1); }],
    ['the id missing', (r) => { delete r.headers['webhook-id']; }],
    ['the id empty', (r) => { r.headers['webhook-id'] = ''; }],
    ['the timestamp one second later', (r) => { r.headers['webhook-timestamp'] = String(Number(r.headers['webhook-timestamp']) + 1); }],
    ['the timestamp one second earlier', (r) => { r.headers['webhook-timestamp'] = String(Number(r.headers['webhook-timestamp']) - 1); }],
    ['the timestamp missing', (r) => { delete r.headers['webhook-timestamp']; }],
    ['the timestamp not a number', (r) => { r.headers['webhook-timestamp'] = 'soon'; }],
    ['signed an hour ago', (r) => { r.headers = signed(secret, r.id, r.type, r.body, hours(-1)); }],
    ['signed an hour ahead', (r) => { r.headers = signed(secret, r.id, r.type, r.body, hours(1)); }],
    ['an old signature under a new timestamp', (r) => { r.headers = { ...signed(secret, r.id, r.type, r.body, hours(-1)), 'webhook-timestamp': seconds(new Date()) }; }],
    ['the signature missing', (r) => { delete r.headers['webhook-signature']; }],
    ['the signature empty', (r) => { r.headers['webhook-signature'] = ''; }],
    ['a bit of the signature flipped', (r) => { r.headers['webhook-signature'] = flip(r.headers['webhook-signature'], 10); }],
    ['the signature cut', (r) => { r.headers['webhook-signature'] = r.headers['webhook-signature'].slice(0, -8); }],
    ['the signature without its version', (r) => { r.headers['webhook-signature'] = r.headers['webhook-signature'].slice(3); }],
    ['the signature of an unknown version', (r) => { r.headers['webhook-signature'] = r.headers['webhook-signature'].replace('v1,', 'v2,'); }],
    ['only the version', (r) => { r.headers['webhook-signature'] = 'v1,'; }],
    ['signed with another secret', (r) => { r.headers = signed('whsec_c29tZWJvZHkgZWxzZXMgc2VjcmV0IGtleSEhISE=', r.id, r.type, r.body); }],
    ['the signature of an answer', (r) => { r.headers = { ...signed(secret, `re_${r.id}`, r.type, r.body), 'webhook-id': r.id }; }],
    ['the signature of another id', (r) => { r.headers = { ...signed(secret, 'another', r.type, r.body), 'webhook-id': r.id }; }],
  ];
}
