#!/usr/bin/env node
// Runs the program `ackbox` of the platform's package, or the one on the path, with the same arguments.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

function program() {
  const platform = `ackbox-${process.platform}-${process.arch}`;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${platform}/package.json`));
    return join(folder, 'program', 'bin', 'ackbox');
  } catch {
    return 'ackbox';
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(
    `ackbox: the program cannot be started (${error.message}): install the package ackbox-${process.platform}-` +
      `${process.arch}, or ackbox itself`,
  );
  process.exit(127);
});
child.on('exit', (code, signal) => {
  if (signal === null) {
    process.exit(code ?? 1);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
