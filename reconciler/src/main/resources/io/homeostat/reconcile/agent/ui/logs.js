// What a workload prints, as it comes.

import {follow, text} from './api.js';
import {h} from './dom.js';

const MOST = 2000;

/** A panel with the log of a workload; the signal ends it. */
export function logs(workload, signal) {
  const lines = h('div', {class: 'lines', tabindex: '0', role: 'log', 'aria-live': 'off', 'aria-label': `Log of ${workload}`});
  const state = h('span', {class: 'quiet'}, 'connecting');
  const wrap = h('input', {type: 'checkbox', id: 'wrap', onchange: () => lines.classList.toggle('wrapped', wrap.checked)});

  const add = (element) => {
    // Who has scrolled up reads there, and is not carried away.
    const atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    lines.append(element);
    while (lines.childElementCount > MOST) {
      lines.firstElementChild.remove();
    }
    if (atEnd) {
      lines.scrollTop = lines.scrollHeight;
    }
  };
  let connection = new AbortController();
  let again;
  const connect = async () => {
    clearTimeout(again);
    if (document.hidden) {
      return;
    }
    connection = new AbortController();
    const shown = connection.signal;
    try {
      await follow(`/api/logs?workload=${encodeURIComponent(workload)}`, shown, {
        begin: () => {
          lines.replaceChildren();
          state.textContent = 'live';
        },
        data: (line) => add(h('div', {}, h('time', {datetime: line.time}, line.time.slice(11, 19)), ` ${line.line}`)),
        note: (message) => add(h('div', {class: 'quiet'}, text(message))),
      });
      state.textContent = 'ended';
    } catch (problem) {
      if (!shown.aborted) {
        state.textContent = `broken off: ${problem.message}`;
      }
    }
    if (!shown.aborted) {
      again = setTimeout(connect, 3000);
    }
  };
  const leave = () => {
    clearTimeout(again);
    connection.abort();
  };
  signal.addEventListener('abort', leave);
  // A browser has six connections to a host, for all its tabs.
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : connect()), {signal});
  connect();
  return h('section', {class: 'logs', 'aria-labelledby': 'log-title'}, h('div', {class: 'bar'}, h('h3', {id: 'log-title'}, 'Log'), state, h('label', {for: 'wrap'}, wrap, ' wrap lines')), lines);
}
