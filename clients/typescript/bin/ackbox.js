#!/usr/bin/env node
// Runs the program `ackbox` of the platform's package with the same arguments.
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join } from 'node:path';

const platform = `ackbox-${process.platform}-${process.arch}`;

// Not the one on the path: below npx that is this file.
function program() {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${platform}/package.json`));
    return join(folder, 'program', 'bin', 'ackbox');
  } catch {
    console.error(`ackbox: the program is in the package ${platform}, which is not installed`);
    process.exit(127);
  }
}

// The words of a shell that this was called with. Below npx, and in scripts of npm, the path leads here by npm's doing.
function calledAs() {
  if (process.env.npm_command !== undefined) {
    return 'npx ackbox';
  }
  const [, called] = process.argv;
  const isThis = (folder) => {
    try {
      return realpathSync(join(folder, basename(called))) === realpathSync(called);
    } catch {
      return false;
    }
  };
  const word = (process.env.PATH ?? '').split(delimiter).some(isThis) ? basename(called) : called;
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const env = { ...process.env, ACKBOX_CALLED_AS: calledAs() };
const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`ackbox: the program of the package ${platform} cannot be started: ${error.message}`);
  process.exit(127);
});
child.on('exit', (code, signal) => {
  if (signal === null) {
    process.exit(code ?? 1);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
