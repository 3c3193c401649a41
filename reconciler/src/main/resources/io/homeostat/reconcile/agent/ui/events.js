// What happened, newest first.

import {h, linkTo, show, time} from './dom.js';
import {matches} from './workloads.js';

const BAD = /FAIL|CRASH|GIVEN_UP|INVALID|REFUSED|DAMAGED/;
const NOTED = /DRIFT|ROLLED_BACK|PAUSED|STOPPED|WARN/;

export function timeline(events, withName) {
  return h('ol', {class: 'timeline', reversed: true}, events.map((event) => {
    const [first, ...more] = event.message.split('\n');
    return h(
      'li',
      {class: BAD.test(event.type) ? 'bad' : NOTED.test(event.type) ? 'busy' : 'good'},
      h('span', {class: 'when'}, time(event.time)),
      h(
        'div',
        {},
        h('strong', {}, event.type),
        withName && event.workload && [' ', h('a', {href: linkTo(event.workload), 'data-row': event.id, 'data-key': event.id}, event.workload)],
        event.revision && h('span', {class: 'quiet'}, ` ${event.revision}`),
        h('p', {}, first),
        more.length > 0 && h('pre', {tabindex: '0', 'aria-label': 'More of this event'}, more.join('\n')),
      ),
    );
  }));
}

export function events(main, model) {
  const found = model.events.filter((event) => matches(`${event.workload ?? 'homeostat'} ${event.type} ${event.message}`, model.words));
  show(main, ['events', found.map((event) => event.id)], () => [
    h('h2', {}, 'Events'),
    h('p', {class: 'quiet'}, `${found.length} of the last ${model.events.length}, the newest first.`),
    timeline(found, true),
  ]);
}
