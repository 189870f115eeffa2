// Live figures and actions on top of what the server rendered. Whatever is shown is text, or HTML of the server itself.

const html = document.documentElement;
const root = html.dataset.root;
const pollEvery = 2000;
const refreshEvery = 3000;
const points = 120;
// How long the stream may be lost before the page reports it.
const patience = 5000;

html.classList.remove('no-script');

const all = (selector, where = document) => [...where.querySelectorAll(selector)];
const grouped = (number) => Number(number).toLocaleString('en-US');

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function duration(ms) {
  for (const [length, unit] of [[864e5, 'd'], [36e5, 'h'], [6e4, 'm'], [1e3, 's']]) {
    if (ms >= length) return `${Math.floor(ms / length)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(ms))} ms`;
}

const utc = (at) => `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

// Shows the text once the next page is there.
function toastLater(text) {
  try {
    sessionStorage.setItem('ackbox-toast', text);
  } catch { /* it is not shown */ }
}

function toast(text, isBad) {
  // The newest matters; others of its kind would cover the buttons.
  for (const older of all('#toasts .toast')) older.remove();
  const shown = element('div', text, isBad ? 'toast bad' : 'toast');
  document.getElementById('toasts')?.append(shown);
  setTimeout(() => shown.remove(), isBad ? 9000 : 5000);
}

// Times.

function showTimes() {
  const now = Date.now();
  for (const time of all('time[data-at]')) {
    const at = Number(time.dataset.at);
    time.textContent = at > now ? `in ${duration(at - now)}` : `${duration(Math.max(now - at, 1000))} ago`;
  }
  const oldest = document.querySelector('[data-oldest]');
  if (!oldest) return;
  const since = Number(oldest.dataset.oldest);
  oldest.textContent = since ? duration(now - since) : 'none';
  oldest.title = since ? `since ${utc(since)}` : '';
}

// Only the browser knows the address at which it reaches this server.
function showAddress() {
  for (const curl of all('#curl')) {
    curl.textContent = curl.textContent.replace('$ACKBOX_URL', new URL(root, location.href).href.replace(/\/$/, ''));
  }
}

// After a change, the buttons of peers and sessions do nothing for a moment: where the button was, there may be its
// opposite, or that of another row, and a second tap would take the first one back.

const restFor = 1500;
let restsUntil = 0;

function showRest() {
  const isResting = restsUntil > Date.now();
  for (const button of all('[data-post]')) button.ariaDisabled = isResting ? 'true' : null;
}

function rest(time) {
  restsUntil = Date.now() + time;
  showRest();
  setTimeout(showRest, time);
}

// Live views: the server renders them again, and the script replaces their parts.

let refreshedAt = Date.now();
let refreshTimer = 0;
// The page is being left, and is not refreshed any more.
let isLeaving = false;

// `isLoose`: the same for a button and its opposite.
function keyOf(node, isLoose) {
  const data = node.dataset;
  const filter = node.closest('[data-filter]')?.dataset.filter;
  return [node.tagName, isLoose ? data.post?.replace(/:(pause|resume)$/, '') : data.post, data.bulk, data.test, data.inbox, data.fail, data.remove, filter, node.getAttribute('href')].join(' ');
}

async function refresh() {
  refreshTimer = 0;
  refreshedAt = Date.now();
  if (isLeaving) return;
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  // To the login.
  if (answer.redirected) return showLost(401);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (document.querySelector('dialog[open]')) return;
  for (const part of all('[data-live]')) {
    const next = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    if (!next || next.innerHTML === part.innerHTML) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const taken = document.adoptNode(next);
    part.replaceWith(taken);
    showRest();
    const alike = (isLoose) => all('button, a', taken).find((node) => keyOf(node, isLoose) === keyOf(focused, isLoose));
    if (focused) (alike(false) ?? alike(true))?.focus();
  }
  showTimes();
  showAddress();
}

function refreshSoon(wait = refreshEvery - (Date.now() - refreshedAt)) {
  if (document.querySelector('[data-live]') && !refreshTimer) {
    refreshTimer = setTimeout(() => refresh().catch(() => {}), Math.max(0, wait));
  }
}

// Figures.

const totals = ['enqueued_total', 'acked_total', 'retries_total'];
let last = null;
let lastStats = null;
let lastText = '';
let history = [];
try {
  history = JSON.parse(sessionStorage.getItem('ackbox') ?? '[]').filter((point) => Date.now() - point.at < 120000);
} catch { /* nothing is kept */ }

// The rate at each point of the last two minutes, as a mean of five points: about a message a second would make a saw-tooth.
function curve(key) {
  const shown = history.filter((point) => Date.now() - point.at < 120000);
  return shown.map(({ at }, index) => {
    const near = shown.slice(Math.max(0, index - 4), index + 1);
    return { at, rate: near.reduce((sum, point) => sum + point[key], 0) / near.length };
  });
}

function path(points, most) {
  const now = Date.now();
  return points
    .map(({ at, rate }, index) => `${index ? 'L' : 'M'}${(600 - ((now - at) / 120000) * 600).toFixed(1)} ${(86 - (rate / most) * 80).toFixed(1)}`)
    .join('');
}

function drawSparkline() {
  const svg = document.getElementById('sparkline');
  const curves = ['acked_total', 'enqueued_total'].map(curve);
  if (!svg || curves[0].length < 2) return;
  const most = Math.max(1, ...curves.flat().map(({ rate }) => rate));
  const [area, second, line] = svg.querySelectorAll('.area, .line');
  const acked = path(curves[0], most);
  line.setAttribute('d', acked);
  second.setAttribute('d', path(curves[1], most));
  const ends = acked.match(/[\d.-]+/g);
  area.setAttribute('d', `${acked}L${ends.at(-2)} 88L${ends[0]} 88Z`);
  document.getElementById('scale').textContent = `the last two minutes; the top is ${grouped(Math.ceil(most))} / s`;
}

function showRates(stats) {
  const now = Date.now();
  if (last && now - last.at >= 500) {
    const rates = { at: now };
    for (const total of totals) rates[total] = Math.max(0, ((stats[total] - last[total]) * 1000) / (now - last.at));
    history = [...history, rates].slice(-points);
    // A mean of ten seconds: single messages would make it flicker.
    const recent = history.filter((point) => now - point.at < 10000);
    for (const node of all('[data-rate]')) {
      const rate = recent.reduce((sum, point) => sum + point[node.dataset.rate], 0) / recent.length;
      node.textContent = rate >= 10 || rate === 0 ? grouped(Math.round(rate)) : rate.toFixed(1);
    }
    try {
      sessionStorage.setItem('ackbox', JSON.stringify(history));
    } catch { /* it is not kept */ }
  }
  if (!last || now - last.at >= 500) last = { at: now, ...Object.fromEntries(totals.map((total) => [total, stats[total]])) };
  drawSparkline();
}

function show(stats) {
  for (const node of all('[data-figure]')) {
    node.textContent = grouped(stats[node.dataset.figure] ?? 0);
    node.closest('.figure')?.toggleAttribute('data-zero', !stats[node.dataset.figure]);
  }
  const oldest = document.querySelector('[data-oldest]');
  if (oldest) oldest.dataset.oldest = stats.oldest_pending_at_ms ?? '';
  lastStats = stats;
  showRates(stats);
  showTimes();
  const text = JSON.stringify([stats.pending, stats.sending, stats.sent, stats.failed, stats.inbox, stats.acked_total, stats.peers]);
  if (lastText && text !== lastText) refreshSoon();
  lastText = text;
}

// Whether the page shows the current state, and what to do if it does not.

let heardAt = Date.now();
let silence = 0;

function showLive(state, text) {
  const live = document.getElementById('live');
  if (!live || live.textContent === text) return;
  live.dataset.on = state;
  live.textContent = text;
}

function showConnected() {
  heardAt = Date.now();
  clearTimeout(silence);
  silence = 0;
  showLive('yes', 'live');
  html.classList.remove('stale');
  const note = document.getElementById('lost');
  if (note) note.hidden = true;
}

function loginAddress() {
  const base = new URL(root, location.href).pathname;
  return `${root}login?next=${encodeURIComponent(location.pathname.slice(base.length) + location.search)}`;
}

// `status` is 0 if there was no answer.
function showLost(status, detail = '') {
  showLive('lost', 'not connected');
  html.classList.add('stale');
  const note = document.getElementById('lost');
  if (!note) return;
  const why = {
    0: 'the server does not answer. See whether ackbox serve runs; the page goes on by itself when it does.',
    401: 'the login has ended.',
    403: 'this login may not read.',
    503: `the server is busy, or is being stopped. ${detail} It is asked again every two seconds.`,
  }[status] ?? `the server answered ${status}. ${detail}`;
  const text = `Not connected: ${why} What is shown was read at ${utc(heardAt)}.`;
  if (!note.hidden && note.dataset.text === text) return;
  note.dataset.text = text;
  note.textContent = `${text} `;
  if (status === 401 || status === 403) {
    const link = element('a', 'Log in again');
    link.href = loginAddress();
    note.append(link);
  }
  note.hidden = false;
}

// One stream per window, and none for hidden windows: browsers limit the connections per server.
let stream = null;
let poll = 0;
let looks = 0;

function startPolling() {
  stop();
  const look = async () => {
    try {
      const answer = await fetch(`${root}v1/stats`);
      const said = await answer.json().catch(() => ({}));
      if (!answer.ok) return showLost(answer.status, said.detail);
      show(said);
      showConnected();
      looks += 1;
      // Retry the stream, which may be available again.
      if (looks % 30 === 0) start();
    } catch {
      showLost(0);
    }
  };
  poll = setInterval(look, pollEvery);
  look();
}

function stop() {
  stream?.close();
  stream = null;
  clearInterval(poll);
  clearTimeout(silence);
  silence = 0;
}

function start() {
  stop();
  stream = new EventSource(`${root}v1/events`);
  stream.addEventListener('figures', (event) => {
    show(JSON.parse(event.data));
    showConnected();
  });
  stream.addEventListener('error', () => {
    if (stream?.readyState === EventSource.CLOSED) return startPolling();
    // The browser retries by itself, mostly with success.
    showLive('lost', 'connecting …');
    silence ||= setTimeout(() => showLost(0), patience);
  });
}

// Actions.

async function send(method, target, body) {
  const answer = await fetch(`${root}v1/${target}`, {
    method,
    headers: { 'x-ackbox': '1', ...(body && { 'content-type': 'application/json' }) },
    body,
  });
  if (answer.status === 401) showLost(401);
  const made = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(made.detail || made.title || `The server answered ${answer.status}.`);
  return { status: answer.status, ...made };
}

const post = (target, body) => send('POST', target, body);

async function act(button) {
  if (restsUntil > Date.now()) return;
  rest(30000);
  try {
    const { changed } = await post(button.dataset.post);
    const [, names, verb] = button.dataset.post.match(/^\w+\/(.*):(\w+)$/);
    const name = names.split('/').map(decodeURIComponent).join(', ');
    const said = { pause: 'is paused; its messages wait', resume: 'is tried again now', unblock: 'goes on' }[verb];
    toast(changed || verb === 'resume' ? `${name} ${said}.` : `${name}: nothing had to be changed.`);
    await refresh();
    rest(restFor);
  } catch (error) {
    toast(error.message, true);
    rest(0);
  }
}

async function sendTest(button) {
  button.disabled = true;
  try {
    const { message_id: id } = await post('messages', JSON.stringify({
      peer: button.dataset.test, type: 'ackbox.test', data: { text: 'A test message from the page.' },
    }));
    location.assign(`${root}messages/${encodeURIComponent(id)}`);
  } catch (error) {
    toast(error.message, true);
    button.disabled = false;
  }
}

function ask(title, parts, label, className) {
  return new Promise((resolve) => {
    const dialog = element('dialog');
    const heading = element('h2', title);
    heading.id = 'asked';
    dialog.setAttribute('aria-labelledby', 'asked');
    const cancel = element('button', 'Cancel');
    const agree = element('button', label, className);
    const buttons = element('div', undefined, 'buttons');
    buttons.append(cancel, agree);
    dialog.append(heading, ...parts, buttons);
    cancel.addEventListener('click', () => dialog.close(''));
    agree.addEventListener('click', () => dialog.close('yes'));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
    cancel.focus();
  });
}

async function ended(operation) {
  let now = operation;
  while (now.state === 'running') {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    now = await (await fetch(`${root}v1/operations/${operation.id}`)).json();
  }
  if (now.state === 'failed') throw new Error(now.error);
  return now;
}

const bulks = {
  retry: { operation: 'dead-letters:retry', name: 'Retry', noun: 'dead letter', done: 'put back, and sent when their turn comes', look: 'primary' },
  discard: { operation: 'dead-letters:discard', name: 'Discard', noun: 'dead letter', done: 'discarded', look: 'danger' },
  'mark-failed': { operation: 'messages:mark-failed', name: 'Make dead letters of', noun: 'message', done: 'dead letters now', look: 'danger' },
};

function fateOf(verb, isOne) {
  if (verb === 'mark-failed') return 'A dead letter is not sent any more unless it is retried; its session goes on. What is on its way at that moment is left.';
  if (verb !== 'retry') return isOne ? 'It is deleted for good.' : 'They are deleted for good.';
  return `${isOne ? 'It is put back at the end of its session' : 'They are put back at the end of their sessions'} and sent again. What a peer may have worked on without an answer can take effect twice.`;
}

// The choice without what failed, or was enqueued, after it was shown.
function asOf(verb, filter, shownAt, preview) {
  const choice = JSON.parse(filter);
  if (verb === 'mark-failed') return JSON.stringify({ ...choice, last_row: preview.last_row });
  if (choice.ids) return filter;
  const { all, ...others } = choice;
  return JSON.stringify({ ...others, older_than: `${Math.max(1, Date.now() - shownAt)}ms` });
}

async function bulk(button) {
  const { bulk: verb } = button.dataset;
  const { operation, name, noun, done, look } = bulks[verb];
  const { filter, subject } = button.closest('[data-filter]').dataset;
  try {
    const shownAt = Date.now();
    const preview = await post(`${operation}?dry_run=true`, filter);
    const isAll = preview.is_complete;
    if (isAll && preview.count === 0) {
      toast('There are none any more.');
      return refresh();
    }
    const count = isAll ? grouped(preview.count) : `at least ${grouped(preview.count)}`;
    const isOne = isAll && preview.count === 1;
    const list = element('ul');
    for (const message of preview.sample) {
      const item = element('li', message.message_id, 'id');
      list.append(item);
      if (message.last_error) item.append(element('span', ` ${message.last_error}`, 'error'));
    }
    const parts = [
      element('p', `${isOne ? `One ${noun}` : `${count[0].toUpperCase()}${count.slice(1)} ${noun}s`} ${subject}.`),
      element('p', fateOf(verb, isOne)),
    ];
    if (preview.sample.length > 0) parts.push(element('p', preview.count > preview.sample.length ? 'The first of them:' : isOne ? 'It is:' : 'They are:'), list);
    const isAgreed = await ask(`${name} ${count}?`, parts, isAll ? `${name} ${count}` : `${name} all`, look);
    if (!isAgreed) return button.focus();
    toast(`${name}: ${count} …`);
    isLeaving = verb === 'discard' && button.closest('[data-live="message"]') !== null;
    const { changed } = await ended(await post(operation, asOf(verb, filter, shownAt, preview)));
    const others = isAll ? changed - preview.count : 0;
    const text = `${grouped(changed)} ${done}${others > 0 ? `, ${grouped(others)} more than were shown` : ''}.`;
    if (isLeaving) {
      toastLater(text);
      location.assign(`${root}dead-letters`);
    }
    toast(text);
    await refresh();
  } catch (error) {
    isLeaving = false;
    toast(error.message, true);
  }
}

// Asks for the reason of what is not to be tried any more; nothing if it is.
async function askReason(verb, what, fate, usual) {
  const label = element('label', 'Reason ');
  const reason = element('input');
  reason.value = usual;
  reason.maxLength = 128;
  label.append(reason);
  const isAgreed = await ask(`${verb}?`, [element('p', `${what}.`), element('p', fate), label], verb, 'danger');
  return isAgreed ? reason.value.trim() || usual : null;
}

async function makeDead(button) {
  const { fail: id } = button.dataset;
  try {
    const reason = await askReason('Make dead letter', `Message ${id}`, 'It becomes a dead letter with this reason, and is not sent any more unless it is retried. Its session goes on.', 'marked-failed');
    if (reason === null) return button.focus();
    const { changed } = await ended(await post('messages:mark-failed', JSON.stringify({ ids: [id], reason })));
    toast(changed ? `${id} is a dead letter now.` : 'It is on its way at this moment, or has ended. Try again.', !changed);
    await refresh();
  } catch (error) {
    toast(error.message, true);
  }
}

// Asks under which id; the previews say what each choice means to the receiver.
async function resend(button) {
  const { resend: id } = button.dataset;
  const choices = [{ ids: [id] }, { ids: [id], new_ids: true }].map((choice) => JSON.stringify(choice));
  try {
    const previews = await Promise.all(choices.map((choice) => post('messages:resend?dry_run=true', choice)));
    if (previews[0].count === 0) {
      toast('The file does not keep it any more, or it is under way again.', true);
      return refresh();
    }
    const inputs = choices.map(() => element('input'));
    const labels = inputs.map((input, index) => {
      const label = element('label', '', 'check');
      input.type = 'radio';
      input.name = 'resend';
      input.checked = index === 0;
      label.append(input, `${index === 0 ? 'Under its id' : 'As a new message'}: ${previews[index].meaning}.`);
      return label;
    });
    const parts = [element('p', `Message ${id} is put at the end of its session. The receiver sees that it is sent again.`), ...labels];
    if (!await ask('Send it again?', parts, 'Send again', 'primary')) return button.focus();
    const { changed } = await ended(await post('messages:resend', choices[inputs[0].checked ? 0 : 1]));
    toast(changed ? `${id} is sent again.` : 'It was sent again before, or the file does not keep it any more.', !changed);
    await refresh();
  } catch (error) {
    toast(error.message, true);
  }
}

async function changeInbox(button) {
  const { inbox: verb } = button.dataset;
  const { filter, subject } = button.closest('[data-filter]').dataset;
  let choice = filter;
  try {
    if (verb === 'discard') {
      const reason = await askReason('Discard', subject, 'It is not worked on any more, for good. Its sender gets a dead letter with this reason.', 'discarded');
      if (reason === null) return button.focus();
      choice = JSON.stringify({ ...JSON.parse(choice), reason });
    }
    const { changed } = await ended(await post(`inbox:${verb}`, choice));
    const done = verb === 'discard' ? 'It is discarded; its sender learns it.' : 'It runs as soon as its application takes it.';
    toast(changed ? done : 'An application works on it, or it has ended.');
    await refresh();
  } catch (error) {
    toast(error.message, true);
  }
}

// Peers and subscriptions.

async function save(form) {
  const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
  const { name, definition, rate, ...others } = fields;
  if (rate) others.rate_limit = { frames: Number(rate) };
  const { put, peer } = form.dataset;
  if (name === '') return toast('A name is missing.', true);
  const body = definition ?? JSON.stringify(Object.fromEntries(
    Object.entries(peer ? { peer, ...others } : others).filter(([, value]) => value !== ''),
  ));
  try {
    const { added } = await send('PUT', put + encodeURIComponent(name ?? ''), body);
    toastLater(`${name ?? ''} ${added ? 'is added' : 'is changed'}.`.trim().replace(/^is/, 'It is'));
    location.reload();
  } catch (error) {
    toast(error.message, true);
  }
}

async function remove(button) {
  const { remove: target, fate } = button.dataset;
  const name = decodeURIComponent(target.split('/')[1]);
  const parts = [];
  const fails = element('input');
  fails.type = 'checkbox';
  if (fate === 'messages') {
    const label = element('label', '', 'check');
    label.append(fails, 'Make its messages that are not settled dead letters.');
    parts.push(element('p', 'Nothing is sent to it any more, and its subscriptions end. A peer with messages that are not settled is removed only if these become dead letters.'), label);
  } else {
    parts.push(element('p', fate));
  }
  if (!await ask(`${button.textContent.replace('…', '')} ${name}?`, parts, button.textContent.replace('…', ''), 'danger')) return button.focus();
  try {
    const made = await send('DELETE', fails.checked ? `${target}?messages=fail` : target);
    toastLater(made.failed ? `${name} was removed; ${grouped(made.failed)} messages became dead letters.` : `${name} was removed.`);
    if (fate === 'messages') location.assign(`${root}peers`);
    else location.reload();
  } catch (error) {
    toast(error.message, true);
  }
}

document.addEventListener('submit', (event) => {
  if (!event.target.dataset.put) return;
  event.preventDefault();
  save(event.target);
});

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('button');
  if (!button) return;
  if (button.dataset.post) act(button);
  if (button.dataset.bulk) bulk(button);
  if (button.dataset.test) sendTest(button);
  if (button.dataset.inbox) changeInbox(button);
  if (button.dataset.fail) makeDead(button);
  if (button.dataset.resend) resend(button);
  if (button.dataset.remove) remove(button);
  if (button.dataset.copy) {
    const text = document.getElementById(button.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(() => toast('Copied.'), () => toast('The browser does not allow it.', true));
  }
});

showAddress();
try {
  const text = sessionStorage.getItem('ackbox-toast');
  sessionStorage.removeItem('ackbox-toast');
  if (text) toast(text);
} catch { /* nothing was kept */ }
if (document.querySelector('.bar')) {
  setInterval(() => {
    showTimes();
    // The server sends nothing while nothing changes.
    if (lastStats && last && Date.now() - last.at >= 1500 && !document.hidden) showRates(lastStats);
  }, 1000);
  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : start()));
  addEventListener('pagehide', stop);
  addEventListener('pageshow', (event) => event.persisted && start());
  start();
}
