// Elements are made of text and attributes, never of HTML: nothing that a workload says can become part of the page.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element; children that are no nodes become text. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const shown = new WeakMap();

/** Makes the content of an element anew if what it is made of has changed; the focus stays where it was, by data-key. */
export function show(element, data, build) {
  const state = JSON.stringify(data);
  if (shown.get(element) === state) {
    return;
  }
  shown.set(element, state);
  const active = document.activeElement;
  const key = element.contains(active) ? active.dataset.key : undefined;
  element.replaceChildren(...[build()].flat(Infinity).filter(Boolean));
  if (key !== undefined) {
    element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({preventScroll: true});
  }
}

/** Tells those who do not see the page. */
export function say(words) {
  document.getElementById('said').textContent = words;
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(count) {
  let size = count;
  let unit = 0;
  while (size >= 1024 && unit < SIZES.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${SIZES[unit]}`;
}

/** How long ago, in the largest unit that fits. */
export function ago(time) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  for (const [unit, length] of [['d', 86400], ['h', 3600], ['min', 60]]) {
    if (seconds >= length) {
      return `${Math.floor(seconds / length)} ${unit}`;
    }
  }
  return `${seconds} s`;
}

export function time(text) {
  const date = new Date(text);
  const day = date.toDateString() === new Date().toDateString() ? '' : `${date.toLocaleDateString()} `;
  return h('time', {datetime: text, title: text}, day + date.toLocaleTimeString());
}

export function id(workload) {
  return `${workload.kind.toLowerCase()}/${workload.name}`;
}

/** The page of a workload; names may have characters that mean something in an address. */
export function linkTo(workload) {
  return `#/workload/${workload.split('/').map(encodeURIComponent).join('/')}`;
}

const GOOD = new Set(['RUNNING', 'EXECUTION_COMPLETED']);
const BAD = new Set(['CRASHED', 'INSTALL_FAILED', 'EXECUTION_FAILED']);

/** good, bad, busy or quiet. */
export function tone(status) {
  const conditions = Object.fromEntries(status.conditions.map((one) => [one.type, one.status]));
  if (BAD.has(status.state) || conditions.Healthy === 'False' || conditions.GivenUp === 'True') {
    return 'bad';
  }
  if (status.state === 'STOPPED' || conditions.Paused === 'True') {
    return 'quiet';
  }
  return GOOD.has(status.state) && conditions.Converged !== 'False' ? 'good' : 'busy';
}

const SIGNS = {good: '●', bad: '▲', busy: '◐', quiet: '○'};

/** Words with a sign: a colour alone tells not everybody. */
export function mark(kind, words) {
  return h('span', {class: `badge ${kind}`}, h('span', {'aria-hidden': 'true'}, `${SIGNS[kind]} `), words);
}

/** The state of a workload. */
export function badge(status) {
  return mark(tone(status), status.state === 'STATE_VALUE_UNSPECIFIED' ? 'UNKNOWN' : status.state.replaceAll('_', ' '));
}
