// One workload.

import {ago, badge, bytes, h, id, show, time} from './dom.js';
import {timeline} from './events.js';
import {neighbours} from './graph.js';
import {logs} from './logs.js';
import {buttons} from './operations.js';
import {change} from './plan.js';
import {sparkline} from './sparkline.js';

let ending = new AbortController();

/** Nobody looks at the log any more. */
export function leave() {
  ending.abort();
}

function fact(name, value) {
  return value === null || value === undefined || value === '' ? null : [h('dt', {}, name), h('dd', {}, value)];
}

function exit(last) {
  if (!last) {
    return null;
  }
  return [last.signal === null ? `status ${last.code}` : `signal ${last.signal}`, ` (${last.reason}), `, time(last.at)];
}

function facts(status) {
  return h('dl', {class: 'facts'}, [
    fact('Revision', status.currentRevision),
    fact('Declared', status.desiredRevision === status.currentRevision ? null : status.desiredRevision),
    fact('Pending', status.pendingRevision && `${status.pendingRevision} ${status.pendingError ?? ''}`),
    fact('Up', status.startedAt && [ago(status.startedAt), ', since ', time(status.startedAt)]),
    fact('Process', status.pid ?? status.instance),
    fact('Restarts', String(status.restarts)),
    fact('Last end', exit(status.lastExit)),
    fact('Health', status.health && `code ${status.health.code} ${status.health.results.join(' ')}`),
    fact('Last run', status.execution?.lastRun && [status.execution.lastRun.result, ', ', time(status.execution.lastRun.startedAt)]),
    fact('Next run', status.execution?.nextDue && time(status.execution.nextDue)),
    fact('Declared by', status.source),
  ]);
}

function usage({cpu, memory}) {
  const one = (title, values, words) =>
    values.length > 0 && h('div', {class: 'usage'}, h('h4', {}, title), sparkline(values, title, words), h('p', {}, words(values.at(-1)), h('span', {class: 'quiet'}, ` at most ${words(Math.max(...values))}`)));
  return cpu.length === 0 ? h('p', {class: 'quiet'}, 'Nothing is sampled; spec.metrics says how often.') : [one('Processor', cpu, (value) => `${value} %`), one('Memory', memory, bytes)];
}

function part(name, title) {
  return h('section', {'data-part': name, 'aria-label': title});
}

/** @param name as KIND/NAME */
export function detail(main, model, name) {
  const status = model.status.workloads.find((one) => id(one) === name);
  if (main.dataset.workload !== name || !main.querySelector('[data-part]') !== !status) {
    leave();
    ending = new AbortController();
    main.dataset.workload = name;
    if (!status) {
      main.replaceChildren(h('p', {}, h('a', {href: '#/workloads'}, '← all workloads')), h('h2', {}, name), h('p', {class: 'empty'}, 'Neither declared nor on this machine.'));
      return;
    }
    main.replaceChildren(
      h('p', {}, h('a', {href: '#/workloads', 'data-key': 'back'}, '← all workloads')),
      part('title', 'State'),
      h('div', {class: 'columns'}, part('facts', 'Facts'), part('usage', 'Usage'), part('conditions', 'Conditions'), part('neighbours', 'Dependencies')),
      part('plan', 'Plan'),
      logs(name, ending.signal),
      part('events', 'Events'),
    );
  }
  if (!status) {
    return;
  }
  const of = (title) => main.querySelector(`[data-part=${title}]`);
  const paused = status.conditions.some((one) => one.type === 'Paused' && one.status === 'True');
  show(of('title'), [status.state, status.conditions.map((one) => [one.type, one.status]), model.operations], () => [
    h('div', {class: 'bar'}, h('h2', {}, name), badge(status)),
    model.operations && h('div', {class: 'buttons'}, buttons(name, paused, model.refresh)),
  ]);
  show(of('facts'), [status, status.startedAt && ago(status.startedAt)], () => [h('h3', {}, 'Facts'), facts(status)]);
  const samples = model.samples.of(name);
  show(of('usage'), samples, () => [h('h3', {}, 'Usage'), usage(samples)]);
  show(of('conditions'), status.conditions, () => [
    h('h3', {}, 'Conditions'),
    h('ul', {class: 'conditions'}, status.conditions.map((one) =>
      h('li', {}, h('strong', {}, one.type), ` ${one.status} `, h('span', {class: 'quiet'}, one.reason, ' ', time(one.lastTransitionTime)), one.message && h('p', {}, one.message)))),
  ]);
  show(of('neighbours'), [model.declared.map((one) => [one.workload, one.document?.spec?.dependsOn]), model.missing, model.status.workloads.map((one) => [id(one), one.state])], () => [h('h3', {}, 'Dependencies'), neighbours(name, model)]);
  const planned = [...model.plan.changes, ...model.plan.drift].filter((one) => one.workload === name);
  show(of('plan'), planned, () => planned.length > 0 && [h('h3', {}, 'Plan'), planned.map((one) => change(one, 'h4'))]);
  const happened = model.events.filter((event) => event.workload === name).slice(0, 50);
  show(of('events'), happened.map((event) => event.id), () => [h('h3', {}, 'Events'), timeline(happened, false)]);
}
