// What is known, when it is asked for anew, and which view shows it. While nobody looks nothing is asked.

import {follow, login, look, NotLoggedIn, Refused} from './api.js';
import {detail, leave} from './detail.js';
import {h, id, say, show} from './dom.js';
import {events} from './events.js';
import {fleet, FleetWatch} from './fleet.js';
import {graph} from './graph.js';
import {listen} from './keys.js';
import {plan} from './plan.js';
import {Samples} from './sparkline.js';
import {workloads} from './workloads.js';

const PAUSE = 3000;
const MOST_EVENTS = 1000;

const main = document.getElementById('main');
const search = document.getElementById('search');
const views = {workloads, graph, plan, events, fleet};

const model = {
  status: {workloads: [], problems: [], agent: null},
  plan: {changes: [], drift: [], summary: {install: 0, update: 0, repair: 0, remove: 0, unchanged: 0}},
  declared: [],
  missing: '',
  events: [],
  samples: new Samples(),
  words: [],
  operations: false,
  hasFleet: false,
  fleet: new FleetWatch(() => render()),
  refresh: () => lookAgain(),
};
let known = false;
let stale = '';
let following = null;
let timer;
let shownView = '';

function view() {
  const [, name, ...rest] = location.hash.split('/');
  const shown = Object.hasOwn(views, name) && (name !== 'fleet' || model.hasFleet);
  return name === 'workload' && rest.length > 1 ? {name, of: decoded(rest.join('/'))} : {name: shown ? name : 'workloads'};
}

/** What is no encoding of anything names no workload. */
function decoded(words) {
  try {
    return decodeURIComponent(words);
  } catch {
    return words;
  }
}

/** A defect of one view is told as that: the agent answers, and the other views are shown. */
function render() {
  if (!known) {
    return;
  }
  try {
    draw();
  } catch (fault) {
    console.error(fault);
    // Whatever stands there by now is made anew the next time.
    shownView = '';
    leave();
    show(main, ['fault', fault.message], () => [
      h('h2', {}, 'This view can’t be shown'),
      h('p', {}, `${fault.message}. This is a defect of the page; the other views, and homeostat status on a terminal, show the rest.`),
    ]);
  }
}

function draw() {
  const {name, of} = view();
  const here = of ?? name;
  model.fleet.see(name === 'fleet' && !document.hidden);
  if (shownView !== here) {
    leave();
    delete main.dataset.workload;
    // Another view begins with nothing of the one before.
    show(main, ['another', here], () => []);
    window.scrollTo(0, 0);
    document.title = `${of ?? name[0].toUpperCase() + name.slice(1)} · Homeostat`;
    if (shownView) {
      say(document.title);
    }
  }
  const moved = shownView && shownView !== here;
  shownView = here;
  if (of) {
    detail(main, model, of);
  } else {
    views[name](main, model);
  }
  if (moved) {
    main.focus({preventScroll: true});
  }
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#/${of ? 'workloads' : name}`) {
      link.setAttribute('aria-current', of ? 'true' : 'page');
    } else {
      link.removeAttribute('aria-current');
    }
  }
  frame();
}

function frame() {
  document.querySelectorAll('[data-fleet]').forEach((element) => (element.hidden = !model.hasFleet));
  const {agent} = model.status;
  show(document.getElementById('agent'), [agent?.version, agent?.pid, model.operations], () =>
    agent ? `agent ${agent.version}, pid ${agent.pid}${model.operations ? '' : ', read-only'}` : '');
  const pending = model.plan.changes.length + model.plan.drift.length;
  show(document.getElementById('pending'), pending, () => pending > 0 && h('span', {class: 'count'}, ` ${pending}`));
  const problems = [stale, model.missing, ...(agent?.problems ?? []), ...model.status.problems.map((one) => `${one.source} ${one.origin}: ${one.message}`)].filter(Boolean);
  show(document.getElementById('problems'), problems, () => problems.map((problem) => h('p', {}, problem)));
}

function stopped(words, remedy) {
  known = false;
  stale = '';
  shownView = '';
  leave();
  model.fleet.see(false);
  show(main, ['stopped', words], () => [h('h2', {}, words), h('p', {}, remedy)]);
}

/** States that have changed, for who does not see them. */
function tell(before, after) {
  const states = new Map(before.workloads.map((one) => [id(one), one.state]));
  const changed = after.workloads.filter((one) => states.has(id(one)) && states.get(id(one)) !== one.state);
  if (changed.length > 0) {
    say(changed.map((one) => `${id(one)} is ${one.state.replaceAll('_', ' ').toLowerCase()}`).join(', '));
  }
}

/** The largest answer, which only dependencies are taken from: without it these stay as they are, and the rest is shown. */
async function lookAtDeclared() {
  try {
    model.declared = (await look('/api/declared')).results[0]?.workloads ?? [];
    model.missing = '';
  } catch (problem) {
    if (!(problem instanceof Refused)) {
      throw problem;
    }
    model.missing = `Dependencies are missing or not up to date: ${problem.message}.`;
  }
}

async function lookAgain() {
  clearTimeout(timer);
  try {
    await login();
    if (document.hidden) {
      return;
    }
    if (!known) {
      const session = await look('/api/session');
      model.operations = session.operations;
      model.hasFleet = session.fleet;
    }
    const [status, planned] = await Promise.all([look('/api/status'), look('/api/plan'), lookAtDeclared()]);
    if (known) {
      tell(model.status, status.results[0]);
    }
    model.status = status.results[0];
    model.plan = planned.results[0] ?? model.plan;
    for (const one of model.status.workloads) {
      if (one.metrics) {
        model.samples.add(id(one), one.metrics);
      }
    }
    known = true;
    stale = '';
    render();
    beginFollowing();
  } catch (problem) {
    if (problem instanceof NotLoggedIn) {
      stopped('Not logged in', 'Run homeostat ui on the machine, as the agent’s user, and open the address that it prints, which logs in once.');
      return;
    }
    if (!(problem instanceof Refused)) {
      stopped('The agent does not answer', `${problem.message}. The page goes on asking.`);
    } else if (known) {
      stale = `What is shown is not up to date: ${problem.message}. The page goes on asking.`;
      frame();
    } else {
      stopped('The agent can’t show this now', `${problem.message}. The page goes on asking.`);
    }
  }
  clearTimeout(timer);
  timer = setTimeout(lookAgain, PAUSE);
}

/** Events come by themselves, and say when it is time to look again. */
async function beginFollowing() {
  if (following || document.hidden) {
    return;
  }
  following = new AbortController();
  const {signal} = following;
  let soon;
  try {
    await follow('/api/events', signal, {
      begin: () => (model.events = []),
      data: (event) => {
        model.events = [event, ...model.events].slice(0, MOST_EVENTS);
        clearTimeout(soon);
        soon = setTimeout(render, 50);
      },
    });
  } catch (problem) {
    // The next look says what is wrong.
  }
  if (following?.signal === signal) {
    following = null;
  }
}

function begin() {
  listen();
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#token=')) {
      lookAgain();
    } else if (location.hash.startsWith('#/')) {
      render();
    }
  });
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      clearTimeout(timer);
      model.fleet.see(false);
      following?.abort();
      following = null;
    } else {
      lookAgain();
    }
  });
  search.addEventListener('input', () => {
    model.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (view().name === 'workload' || view().name === 'graph') {
      location.hash = '#/workloads';
    }
    render();
  });
  lookAgain();
}

begin();
