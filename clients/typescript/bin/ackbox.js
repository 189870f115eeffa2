#!/usr/bin/env node
// Runs the program `ackbox` of the platform's package with the same arguments.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

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

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
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
