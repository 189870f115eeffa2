// A database for tests: real SQLite, in a child process of python3, as Node has none before 22.5. When this process is
// killed, the child sees the end of its input and ends without a commit, as a driver in this process would.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const child = `
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA synchronous=FULL")
for line in sys.stdin:
    sql, parameters = json.loads(line)
    try:
        cursor = db.execute(sql, parameters)
        row = cursor.fetchone()
        names = [column[0] for column in cursor.description or ()]
        print(json.dumps({"changed": cursor.rowcount, "row": dict(zip(names, row)) if row else None}), flush=True)
    except sqlite3.Error as error:
        print(json.dumps({"error": str(error)}), flush=True)
`;

export class SqliteBridge {
  #child;
  #answers;

  constructor(file) {
    this.#child = spawn('python3', ['-c', child, file], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async #ask(sql, parameters = []) {
    // A number that JSON.stringify does not know.
    const values = parameters.map((value) => (typeof value === 'bigint' ? Number(value) : value));
    this.#child.stdin.write(`${JSON.stringify([sql, values])}\n`);
    const answer = JSON.parse((await this.#answers.next()).value);
    if (answer.error) {
      throw new Error(answer.error);
    }
    return answer;
  }

  async transaction(work) {
    await this.#ask('BEGIN IMMEDIATE');
    try {
      const result = await work({
        run: async (sql, parameters) => (await this.#ask(sql, parameters)).changed,
        get: async (sql, parameters) => (await this.#ask(sql, parameters)).row ?? undefined,
      });
      await this.#ask('COMMIT');
      return result;
    } catch (error) {
      await this.#ask('ROLLBACK');
      throw error;
    }
  }

  async close() {
    this.#child.stdin.end();
    await new Promise((resolve) => this.#child.on('exit', resolve));
  }
}
