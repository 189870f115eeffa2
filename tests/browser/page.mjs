// Drives the page in a browser: finds dead letters by their reason, looks at the preview, retries them and sees them
// leave; pauses and resumes peers and sessions; reads one message; loses the server and finds it again; opens every view
// with texts of an attacker in every field. Any error on the console, any refusal by the content security policy, and any
// window that needs to be scrolled sideways is a failure.
//
//   node page.mjs CHROMIUM URL FOLDER|- [TOKEN]
import { chromium } from 'playwright-core';

const [, , executablePath, url, folder, token] = process.argv;
let problems = 0;
const check = (isRight, text) => {
  console.log(`${isRight ? 'ok' : 'FAILED'}: ${text}`);
  if (!isRight) problems += 1;
};

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

// `isLossy`: its server is made to fail, which the browser writes to the console.
async function open(options, isLossy = false) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && !isLossy && check(false, `console: ${message.text()} ${message.location().url}`));
  page.on('pageerror', (error) => check(false, `script: ${error.message}`));
  page.on('dialog', (dialog) => {
    check(false, `a text of an attacker ran: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(url);
  if (token) {
    await page.fill('input[name=token]', token);
    await page.press('input[name=token]', 'Enter');
    await page.waitForSelector('.bar');
  }
  return page;
}

const api = (page, method, path, body) => page.evaluate(async ([verb, target, json]) => {
  const answer = await fetch(target, {
    method: verb, body: json && JSON.stringify(json), headers: { 'x-ackbox': '1', 'content-type': 'application/json' },
  });
  return { status: answer.status, body: await answer.json() };
}, [method, path, body]);

const attack = '"><img src=x onerror=alert(1)><script>alert(2)</script>\'';
const views = ['', 'peers', 'peers/bob', 'dead-letters', 'messages', 'search?q=orders-1', 'sessions', 'inbox', 'history', 'changes', 'doctor'];

const page = await open({ viewport: { width: 1440, height: 900 } });
check((await page.textContent('h1')) === 'Longest wait', 'the overview opens');
for (let at = 0; at < 30; at += 1) {
  await api(page, 'POST', 'v1/messages', { peer: 'bob', session: `orders-${at % 3}`, type: at % 2 ? 'bad' : 'order.placed', data: { at, attack } });
}
await api(page, 'POST', 'v1/messages', { peer: 'bob', session: attack, type: 'bad', id: 'attack-1', data: attack });
await page.waitForSelector('a.figure:has-text("Dead") .value:text-is("16")', { timeout: 15000 });
check(true, 'the figures follow without a reload');
await page.waitForSelector('[data-rate=acked_total]:not(:text-is("–"))', { timeout: 8000 });
check(true, 'the rates are shown');

// Dead letters: find, preview, retry, watch them leave.
await page.goto(`${url}dead-letters`);
const row = page.locator('tbody tr', { hasText: 'rejected' }).filter({ hasText: 'bad' });
check((await row.count()) === 1, 'dead letters are found by their reason');
await row.getByRole('button', { name: 'Retry…' }).click();
await page.waitForSelector('dialog[open]');
check((await page.textContent('dialog h2')) === 'Retry 16?', 'the preview counts them');
check((await page.locator('dialog li').count()) === 10, 'the preview shows the first of them');
await page.keyboard.press('Escape');
await page.waitForSelector('dialog', { state: 'detached' });
check((await api(page, 'GET', 'v1/stats')).body.failed === 16, 'a preview changes nothing');
await api(page, 'POST', 'v1/peers/bob:pause');
await row.getByRole('button', { name: 'Retry…' }).click();
await page.getByRole('button', { name: 'Retry 16', exact: true }).click();
await page.waitForSelector('.empty:has-text("no dead letters")', { timeout: 15000 });
check((await api(page, 'GET', 'v1/stats')).body.failed === 0, 'retried dead letters leave');

// Peers: the keyboard alone.
await page.goto(`${url}peers`);
await page.locator('button', { hasText: 'Resume' }).first().focus();
await page.keyboard.press('Enter');
await page.waitForSelector('tr:has-text("bob") .badge[data-state=up]', { timeout: 15000 });
check(true, 'a peer is resumed with the keyboard');
await page.goto(url);
await page.waitForSelector('a.figure:has-text("Dead") .value:text-is("16")', { timeout: 15000 });

// A peer and a session are paused and resumed; each has the button for what can be done in its state.
async function pauseAndResume(what, row, states) {
  await row.getByRole('button', { name: 'Pause' }).click();
  await row.locator('.badge[data-state=paused]').waitFor();
  check((await row.getByRole('button', { name: 'Pause' }).count()) === 0, `${what} that is paused is not paused again`);
  const resume = row.getByRole('button', { name: 'Resume' });
  const { x, y, width, height } = await resume.boundingBox();
  await resume.click();
  await row.locator(states).first().waitFor();
  // A second tap hits what is in the place now.
  await page.mouse.click(x + width / 2, y + height / 2);
  await page.waitForTimeout(700);
  await page.mouse.click(x + width / 2, y + height / 2);
  await row.locator('button:not([aria-disabled])').first().waitFor();
  check((await row.locator('.badge[data-state=paused]').count()) === 0, `${what} is not paused again by a second tap`);
  check((await row.getByRole('button', { name: 'Resume' }).count()) === 0, `${what} is paused and resumed`);
}
await page.goto(`${url}peers`);
await pauseAndResume('a peer', page.locator('tbody tr', { hasText: 'bob' }), '.badge[data-state=up]');
for (let at = 0; at < 24; at += 1) {
  await api(page, 'POST', 'v1/messages', { peer: 'away', session: `parcel-${at % 4}`, type: 'order.placed', data: { at } });
}
await page.goto(`${url}sessions`);
await pauseAndResume('a session', page.locator('tbody tr', { hasText: 'parcel-1' }),
  '.badge[data-state=waiting], .badge[data-state=backoff], .badge[data-state="in flight"]');

// What waits becomes dead letters by the filters of the list.
await page.goto(`${url}messages?state=pending&peer=away&session=parcel-2`);
await page.getByRole('button', { name: 'Make dead letters…' }).click();
// One of them may be on its way.
await page.getByRole('button', { name: /^Make dead letters of [56]$/ }).click();
await page.waitForSelector('.toast:has-text("dead letters now")', { timeout: 15000 });
const made = (await api(page, 'GET', 'v1/messages?state=failed&peer=away&limit=100')).body.messages;
check(made.length >= 5 && made.every(({ session }) => session === 'parcel-2'), 'messages of a filter become dead letters');

// A peer is added, changed and removed, and a subscription with it.
await page.goto(`${url}peers`);
await page.click('summary:has-text("Add a peer")');
await page.fill('form.edit input[name=name]', 'carol');
await page.fill('form.edit input[name=url]', 'http://127.0.0.1:2/');
await page.getByRole('button', { name: 'Add', exact: true }).click();
await page.locator('tbody tr', { hasText: 'carol' }).waitFor();
check(true, 'a peer is added');
await page.goto(`${url}peers/carol`);
await page.fill('textarea', '{"url":"http://127.0.0.1:2/","profile":"webhook"}');
await page.getByRole('button', { name: 'Change', exact: true }).click();
await page.locator('textarea:has-text("webhook")').waitFor();
check(true, 'a peer is changed');
await page.fill('form.edit input[name=name]', 'parcels');
await page.getByRole('button', { name: 'Subscribe, or change' }).click();
await page.locator('tbody tr', { hasText: 'parcels' }).waitFor();
check(true, 'a peer subscribes');
await page.getByRole('button', { name: 'Remove…', exact: true }).click();
await page.getByRole('button', { name: 'Remove', exact: true }).click();
await page.waitForURL(`${url}peers`);
check(!(await page.textContent('main')).includes('carol'), 'a peer is removed');

// A message, and one dead letter discarded.
await page.goto(`${url}messages/attack-1`);
check((await page.textContent('h1')) === 'attack-1', 'the view of a message has its id');
check((await page.textContent('.title .badge')) === 'dead letter', 'and its state');
check((await page.textContent('.lead')).includes('rejected-request'), 'and why it stands there');
check((await page.locator('.facts dd time').first().getAttribute('title')).endsWith(' UTC'), 'and instants in full');
check((await page.locator('table:has-text("Attempts") tbody tr').count()) === 1, 'and its attempts');
await page.click('summary:has-text("Payload")');
check((await page.textContent('pre.data')).includes('<img src=x'), 'a payload is a text');
check((await page.textContent('#curl')).startsWith(`curl "${url}v1/messages"`), 'the command names this server');
await page.getByRole('button', { name: 'Discard…' }).click();
await page.getByRole('button', { name: 'Discard 1', exact: true }).click();
await page.waitForURL(`${url}dead-letters`);
check((await api(page, 'GET', 'v1/stats')).body.failed === 15 + made.length, 'a dead letter is discarded');

// Without a script the views are there, and nothing that needs one.
const plain = await open({ javaScriptEnabled: false });
for (const view of views) {
  await plain.goto(url + view);
  check((await plain.locator('h1').count()) === 1, `without a script: /${view}`);
  check((await plain.locator('.act:visible').count()) === 0, `without a script no buttons: /${view}`);
}

// A server that fails is said, with what to do; what comes back goes on by itself.
const lossy = await open({}, true);
let failure = { status: 503, json: { detail: 'Too many requests wait for the outbox.' } };
await lossy.route('**/v1/{events,stats}', (route) => (failure ? route.fulfill(failure) : route.continue()));
await lossy.goto(url);
await lossy.waitForSelector('#lost:has-text("Too many requests wait for the outbox.")');
check(true, 'a server that is busy is said');
failure = { status: 401, json: {} };
await lossy.waitForSelector('#lost:has-text("the login has ended") a[href="./login?next="]');
check(true, 'a login that has ended is said, with the way to the login');
failure = null;
await lossy.waitForSelector('#live:has-text("live")');
check(await lossy.locator('#lost').isHidden(), 'what comes back is shown again');
await lossy.context().close();

const screenshots = ['overview-360-light', 'overview-360-dark', 'overview-1440-light', 'overview-1440-dark',
  'dead-letters-820-light', 'dead-letters-820-dark'];
for (const colorScheme of ['light', 'dark']) {
  for (const width of [360, 820, 1440]) {
    const look = await open({ colorScheme, viewport: { width, height: width < 400 ? 760 : 820 } });
    const { messages } = (await api(look, 'GET', 'v1/messages?state=failed&limit=1')).body;
    for (const view of [...views, 'messages?state=failed', `messages/${messages[0].message_id}`]) {
      await look.goto(url + view);
      const over = await look.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) check(false, `/${view} is ${over} px too wide at ${width}`);
      const name = `${view.startsWith('messages/') ? 'message' : view || 'overview'}-${width}-${colorScheme}`;
      if (folder !== '-' && screenshots.includes(name)) {
        for (let at = 0; view === '' && at < 30; at += 1) {
          const burst = Array.from({ length: 20 + 15 * Math.round(Math.sin(at / 4)) }, () => ({ peer: 'bob', type: 'order.placed', data: {} }));
          await api(look, 'POST', 'v1/messages', burst);
          await look.waitForTimeout(500);
        }
        await look.screenshot({ path: `${folder}/${name}.png` });
      }
    }
    await look.context().close();
  }
}
if (token) {
  await page.goto(url);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForSelector('.login');
  await page.goto(url);
  check((await page.locator('.login').count()) === 1, 'after the logout the views are closed');
}
await browser.close();
console.log(problems === 0 ? 'all is well' : `${problems} problems`);
process.exit(problems === 0 ? 0 : 1);
