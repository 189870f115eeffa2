// The TypeScript application of kill_test.py: each frame's effect is a row, which no constraint keeps from being there
// twice.
//
//   kill_application.mjs URL DATABASE [careless]

import { apply, Client, createMarks } from 'ackbox';
import { SqliteBridge } from './sqlite_bridge.mjs';

const [url, file, careless] = process.argv.slice(2);
const database = new SqliteBridge(file);
await database.transaction((transaction) =>
  transaction.run('CREATE TABLE IF NOT EXISTS effects(session TEXT NOT NULL, n INTEGER NOT NULL)', []));
await createMarks(database);

async function effect(transaction, event) {
  await transaction.run('INSERT INTO effects(session, n) VALUES (?, ?)', [event.session, event.data.n]);
  return { n: event.data.n };
}

let before;
for await (const frame of new Client(url).receive({ window: 16 })) {
  if (frame.data.n % 40 === 7 && frame.run === 1) {
    await frame.retry('not at the first time', 10);
    continue;
  }
  if (careless) {
    // What kill_test.py must find: nothing recognises a repetition. Each settles the one before, as a settlement that
    // follows at once is seldom lost.
    await database.transaction((transaction) => effect(transaction, frame));
    await before?.ack();
    before = frame;
    continue;
  }
  const applied = await apply(database, frame, effect);
  await frame.ack(applied.result);
}
