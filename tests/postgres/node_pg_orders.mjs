// The application of node_pg_test.py: a row of business and a message in one transaction.
//
//   node_pg_orders.mjs URL EACH CLIENTS LEVEL...

import pg from 'pg';

const [url, each, clients, ...levels] = process.argv.slice(2);
// A serialization failure, a deadlock, and a number that another transaction has used.
const LOST_RACES = ['40001', '40P01', '23505'];

async function tryOrder(client, level, n) {
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${level}`);
    await client.query('INSERT INTO orders VALUES ($1, $2)', [level, n]);
    const found = await client.query("SELECT status FROM ackbox.enqueue('bob', $1, 'order', $2)", [level, JSON.stringify({ n })]);
    if (found.rows[0].status !== 'stored') {
      throw new Error(`the status is ${found.rows[0].status}`);
    }
    await client.query(n % 4 === 0 ? 'ROLLBACK' : 'COMMIT');
    return true;
  } catch (error) {
    await client.query('ROLLBACK');
    if (!LOST_RACES.includes(error.code)) {
      throw error;
    }
    return false;
  }
}

async function orders(level) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let repeated = 0;
  for (let n = 1; n <= Number(each); ++n) {
    while (!(await tryOrder(client, level, n))) {
      ++repeated;
    }
  }
  await client.end();
  return repeated;
}

const all = levels.flatMap((level) => Array.from({ length: Number(clients) }, () => orders(level)));
console.log(`repeated: ${await Promise.all(all)}`);
