// What the agent is asked. The cookie of a session goes by itself; its key is kept with this origin, because cookies go to every port.

const KEY = 'homeostat-key';

/** The agent knows this browser no more, or not yet. */
export class NotLoggedIn extends Error {}

/** Shows the token that stands behind the # of the address, which then is taken away; false when there was none. */
export async function login() {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (!token) {
    return false;
  }
  history.replaceState(null, '', '#/workloads');
  const answer = await fetch('/login', {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({token}),
  });
  const body = await answer.json();
  if (!answer.ok) {
    throw new NotLoggedIn(body.error);
  }
  localStorage.setItem(KEY, body.key);
  return true;
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
  throw answer.status === 401 ? new NotLoggedIn(words) : new Error(words);
}

/** A message of a command for people. */
export function text(message) {
  return message.error?.message ?? message.message ?? JSON.stringify(message);
}

/** The result of a command that looks: its exit status, results and messages. */
export async function look(path) {
  return (await ask(path)).json();
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
 * @param on what is called with each value; `note` with each message; `end` when the agent has no more to say
 */
export async function follow(path, signal, on) {
  const answer = await ask(path, {signal});
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
