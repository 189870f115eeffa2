// Goal: the receivers that official packages make are peers like any other: each message takes effect there once by its id,
// and in its session's order, whichever process SIGKILL ends. Method: for each package and profile, an agent delivers to such
// a receiver, in rounds with new messages each; in each round the seed chooses an instant and who is killed: the agent, the
// receiver, or both. In the end the ledger is compared with what was enqueued.
//
//   node sdk_kills.mjs INTEROP_AGENT COUNT KILLS [SEED]    prints a line of JSON for each; status 1 if any is not whole
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const [agent, count, kills] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
let seed = Number(process.argv[5] ?? 1);
const patience = 60_000;
const random = (below) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * below);
};

async function within(what, promise) {
  let timer;
  const late = new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error(`${what}: not within 60 s`)), patience); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function kill(child) {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

// Always on the port of its first life.
async function receive(kind, ledger, port) {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const child = spawn('node', ['sdk_peer.mjs', kind, ledger, String(port)], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await within('the receiver', Promise.race([once(readline.createInterface({ input: child.stdout }), 'line'), once(child, 'exit')]));
    if (typeof line === 'string') {
      return { child, port: JSON.parse(line).port };
    }
  }
  throw new Error(`the receiver cannot listen on port ${port}`);
}

function judge(ledger) {
  const rows = readFileSync(ledger, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const last = new Map();
  let outOfOrder = 0;
  for (const { session, number } of rows) {
    outOfOrder += number <= (last.get(session) ?? -1) ? 1 : 0;
    last.set(session, number);
  }
  const refused = existsSync(`${ledger}.refused`) ? readFileSync(`${ledger}.refused`, 'utf8').split('\n').filter(Boolean) : [];
  return { effects: rows.length, ids: new Set(rows.map(({ id }) => id)).size, numbers: new Set(rows.map(({ number }) => number)).size, outOfOrder, refused: refused.length, problem: refused[0] };
}

async function trial(kind, profile) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ackbox-sdk-'));
  const [ledger, file] = [path.join(folder, 'ledger'), path.join(folder, 'agent.db')];
  const killed = { agent: 0, receiver: 0 };
  let { child: receiver, port } = await receive(kind, ledger, 0);
  let sender;
  try {
    for (let round = 1; round <= kills + 1; round += 1) {
      const target = Math.ceil((count * round) / (kills + 1));
      sender = spawn(agent, ['deliver', file, String(port), String(target), profile], { stdio: ['ignore', 'ignore', 'inherit'] });
      const ended = once(sender, 'exit');
      if (round <= kills) {
        await new Promise((resolve) => { setTimeout(resolve, random(60)); });
        const victim = random(3);
        if (victim !== 1 && sender.exitCode === null) {
          killed.agent += 1;
          await kill(sender);
        }
        if (victim !== 0) {
          killed.receiver += 1;
          await kill(receiver);
          ({ child: receiver } = await receive(kind, ledger, port));
        }
      }
      const [status] = await within('the agent', ended);
      if (status !== 0 && status !== null) {
        throw new Error(`the agent ended with ${status}`);
      }
    }
    return { peer: kind, profile, sent: count, ...judge(ledger), killed };
  } finally {
    await Promise.all([kill(receiver), kill(sender)]);
    rmSync(folder, { recursive: true });
  }
}

for (const [kind, profile] of [['cloudevents', 'cloudevents'], ['cloudevents', 'cloudevents_binary'], ['standardwebhooks', 'webhook'], ['svix', 'webhook']]) {
  const report = await trial(kind, profile);
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (report.effects !== count || report.ids !== count || report.numbers !== count || report.outOfOrder !== 0 || report.refused !== 0) {
    process.exitCode = 1;
  }
}
