// What the agent is asked. The cookie of a session goes by itself; its key is kept with this origin, because cookies go to every port.

const KEY = 'homeostat-key';

/** The agent knows this browser no more, or not yet. */
export class NotLoggedIn extends Error {}

/** The agent answers, but not what it was asked for: it has too much to do, or too much to say. */
export class Refused extends Error {}

let token;
let entering;

/** Takes the token that stands behind the # of the address away from there and shows it, once, to the agent. */
export function login() {
  const found = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (found) {
    token = found;
    history.replaceState(null, '', '#/workloads');
  }
  entering ??= enter().finally(() => (entering = undefined));
  return entering;
}

async function enter() {
  while (token) {
    const tried = token;
    // As long as there is no answer it may be shown again.
    const answer = await fetch('/login', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({token: tried}),
    });
    // Another address may have been opened meanwhile, whose token is the next.
    if (token === tried) {
      token = undefined;
    }
    // An address that was used before ends no session: whether there is one shows when something is asked for.
    if (answer.ok) {
      localStorage.setItem(KEY, (await answer.json()).key);
    }
  }
}

async function ask(path, options = {}) {
  const answer = await fetch(path, {
    ...options,
    headers: {...options.headers, 'Homeostat-Key': localStorage.getItem(KEY) ?? ''},
  });
  if (answer.ok) {
    return answer;
  }
  const body = await answer.json().catch(() => ({}));
  const words = body.error ?? body.messages?.map(text).join('\n') ?? `status ${answer.status}`;
  throw answer.status === 401 ? new NotLoggedIn(words) : new Refused(words);
}

/** A message of a command for people. */
export function text(message) {
  return message.error?.message ?? message.message ?? JSON.stringify(message);
}

/** The result of a command that looks: its exit status, results and messages. */
export async function look(path, signal) {
  return (await ask(path, {signal})).json();
}

/** Does something to a workload. */
export async function operate(operation, workload, more) {
  return (
    await ask('/api/operations', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({operation, workload, ...more}),
    })
  ).json();
}

/**
 * Follows server-sent events until the signal ends it. Not an EventSource, because that can't send the key.
 *
 * @param on `begin` is called when the agent answers, `data` with each value, `note` with each message
 */
export async function follow(path, signal, on) {
  const answer = await ask(path, {signal});
  on.begin?.();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) {
      return;
    }
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const [, name, data] = /^(?:event: (\w+)\n)?data: (.*)$/s.exec(event) ?? [];
      if (name === 'end') {
        return;
      }
      (name === 'note' ? on.note : on.data)?.(JSON.parse(data));
    }
  }
}
