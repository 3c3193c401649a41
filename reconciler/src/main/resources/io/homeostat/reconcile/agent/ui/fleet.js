// The machines of a fleet, and how far rollouts over them have come.

import {look, text} from './api.js';
import {h, mark, say, show, svg, time} from './dom.js';
import {matches} from './workloads.js';

/** Of ten thousand machines each look is a second of work for the agent. */
const PAUSE = 5000;

const WIDTH = 1000;
const HEIGHT = 12;

/** How many machines that are silent are named, and how many that are not well. */
const MOST = 10;

/** So that one of thousands is seen. */
const LEAST = 8;

const TONES = {completed: 'good', progressing: 'busy', paused: 'busy', halted: 'bad', rolledBack: 'bad', aborted: 'bad'};
const ORDER = {bad: 0, busy: 1, quiet: 2, good: 3};

/** How machines stand, in the order of the bar. */
const STANDINGS = {done: 'good', waiting: 'busy', silent: 'quiet', failed: 'bad', notItsTurn: 'none'};

/** The words of a name such as notItsTurn. */
function words(name) {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Phases that have changed, for who does not see them. */
function tell(before, after) {
  const phases = new Map(before?.rollouts.map((one) => [one.name, one.phase]));
  const changed = after.rollouts.filter((one) => phases.has(one.name) && phases.get(one.name) !== one.phase);
  if (changed.length > 0) {
    say(changed.map((one) => `rollout ${one.name} is ${words(one.phase)}: ${one.reason}`).join(', '));
  }
}

/** What was heard of the fleet last. It is asked for only while somebody sees it, and keeps nothing else waiting. */
export class FleetWatch {
  heard = null;
  at = null;
  problem = '';
  #changed;
  #seen = null;

  constructor(changed) {
    this.#changed = changed;
  }

  see(seen) {
    if (!seen) {
      this.#seen?.abort();
      this.#seen = null;
    } else if (!this.#seen) {
      this.#seen = new AbortController();
      this.#ask(this.#seen.signal);
    }
  }

  async #ask(signal) {
    while (!signal.aborted) {
      try {
        const {results, messages} = await look('/api/fleet', signal);
        if (signal.aborted) {
          return;
        }
        if (results.length > 0) {
          tell(this.heard, results[0]);
          this.heard = results[0];
          this.at = new Date().toISOString();
        }
        this.problem = results.length > 0 ? '' : messages.map(text).join('\n');
      } catch (problem) {
        if (signal.aborted) {
          return;
        }
        this.problem = problem.message;
      }
      this.#changed();
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }
}

/** Each piece as wide as it is of the whole, but for those that nobody would see then. */
function bar(wave) {
  const pieces = Object.entries(STANDINGS).filter(([name]) => wave[name] > 0);
  const widths = pieces.map(([name]) => Math.max(LEAST, (wave[name] / wave.machines) * WIDTH));
  const scale = WIDTH / widths.reduce((sum, width) => sum + width, 0);
  let x = 0;
  return svg(
    'svg',
    {class: 'stack', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    pieces.map(([, tone], i) => {
      const width = widths[i] * scale;
      const piece = svg('rect', {class: tone, x: x.toFixed(1), y: 0, width: width.toFixed(1), height: HEIGHT});
      x += width;
      return piece;
    }),
  );
}

function counts(wave) {
  return h('ul', {class: 'counts'}, Object.entries(STANDINGS).filter(([name]) => wave[name] > 0).map(([name, tone]) =>
    h('li', {}, h('span', {class: `swatch ${tone}`, 'aria-hidden': 'true'}), `${wave[name]} ${words(name)}`)));
}

function waves(rollout) {
  const opened = rollout.phase === 'notBegun' ? 0 : rollout.wave;
  return h('ol', {class: 'waves'}, rollout.waves.map((wave, i) =>
    h(
      'li',
      {},
      h('p', {}, `Wave ${i + 1}`, h('span', {class: 'quiet'}, `, ${wave.machines} ${wave.machines === 1 ? 'machine' : 'machines'}, ${i < opened ? 'opened' : 'not opened'}`)),
      wave.machines > 0 && [bar(wave), counts(wave)],
    )));
}

function examples(rollout) {
  return rollout.examples.length > 0 && [
    h('h4', {}, 'Machines that hold it up'),
    h('ul', {class: 'plain'}, rollout.examples.map((one) => h('li', {}, h('strong', {}, one.machine), ` ${words(one.standing)}: ${one.reason}`))),
  ];
}

function card(rollout) {
  const tone = TONES[rollout.phase] ?? 'quiet';
  const stopped = tone === 'bad' || rollout.phase === 'paused';
  return h(
    'article',
    {class: tone === 'quiet' ? 'rollout' : `rollout ${tone}`, tabindex: '0', 'aria-label': `Rollout ${rollout.name}`, 'data-row': rollout.name, 'data-key': rollout.name},
    h('div', {class: 'bar'}, h('h3', {}, rollout.name), mark(tone, words(rollout.phase))),
    h('p', {}, `${rollout.from} → ${rollout.to}`, h('span', {class: 'quiet'}, `, ${rollout.machines} ${rollout.machines === 1 ? 'machine' : 'machines'}, ${rollout.failures} failed, at most ${rollout.maxFailures} may`)),
    stopped ? h('p', {class: `stopped ${tone}`}, h('strong', {}, `No wave opens, ${words(rollout.phase)}: `), rollout.reason) : h('p', {class: 'quiet'}, rollout.reason),
    rollout.waitsFor && h('p', {}, `Waits for ${rollout.waitsFor}.`),
    waves(rollout),
    examples(rollout),
  );
}

function total(name, ...value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}

/** The first of machines: there may be thousands. */
function named(id, title, machines, first) {
  return machines.length > 0 && h(
    'section',
    {'aria-labelledby': id},
    h('h3', {id}, title),
    first(machines.slice(0, MOST)),
    machines.length > MOST && h('p', {class: 'quiet'}, `${machines.length - MOST} more: homeostat fleet status -o json`),
  );
}

function known(heard, found) {
  return [
    h(
      'dl',
      {class: 'totals'},
      total('Machines', String(heard.machines)),
      total('Heard of', String(heard.machines - heard.silent)),
      total('Silent', heard.silent > 0 ? mark('bad', String(heard.silent)) : '0'),
      total('Not well', heard.notWell.length > 0 ? mark('bad', String(heard.notWell.length)) : '0'),
      (heard.controller || heard.rollouts.length > 0) && total('Controller that leads', heard.controller ? heard.controller : mark('bad', 'none: nothing opens')),
    ),
    heard.problems.length > 0 && h(
      'section',
      {class: 'stopped bad', 'aria-labelledby': 'fleet-problems'},
      h('h3', {id: 'fleet-problems'}, 'What can’t be read'),
      h('ul', {class: 'plain'}, heard.problems.map((one) => h('li', {}, h('strong', {}, one.key), ` ${one.message}`))),
    ),
    named('fleet-silent', 'Machines that are silent', heard.silentMachines, (ids) => h('p', {class: 'silent'}, ids.join(', '))),
    named('fleet-not-well', 'Machines that are not well', heard.notWell, (some) =>
      h('ul', {class: 'plain'}, some.map((one) => h('li', {}, h('strong', {}, one.machine), ` ${one.reason}`)))),
    found.length === 0 ? h('p', {class: 'empty'}, heard.rollouts.length === 0 ? 'No rollout is published.' : 'No rollout has what is searched for.') : found.map(card),
  ];
}

export function fleet(main, model) {
  const {heard, at, problem} = model.fleet;
  const found = (heard?.rollouts ?? [])
    .filter((one) => matches(`${one.name} ${words(one.phase)} ${one.reason} ${one.examples.map((example) => example.machine).join(' ')}`, model.words))
    .sort((one, other) => ORDER[TONES[one.phase] ?? 'quiet'] - ORDER[TONES[other.phase] ?? 'quiet']);
  show(main, ['fleet', heard, found.map((one) => one.name), problem, problem && at], () => [
    h('h2', {}, 'Fleet'),
    problem && h('p', {class: 'stopped bad', role: 'alert'}, heard ? ['Not up to date, as of ', time(at), ': '] : 'The fleet can’t be shown now: ', problem, /[.?!]$/.test(problem) ? '' : '.', ' The page goes on asking.'),
    heard ? known(heard, found) : !problem && h('p', {class: 'empty'}, 'The fleet is being asked for …'),
  ]);
}
