import { type Html, html } from '../../html.ts';
import { card, confirmForm, dataTable, keyValues, pageHead } from '../../parts.ts';
import { get, type PageContext, post, type Route, type WebAnswer, type WebRequest } from '../../server/route.ts';
import { durationOf, formatCount, timeOf } from '../../shown-values.ts';
import type { Task } from '../../tasks.ts';
import { notFound, WebFault } from '../../web-fault.ts';
import { endOf, outcomeText } from './outcome-text.ts';

/** The routes for work that people have started: the list, one task with its progress, and stopping a task. */
export function taskRoutes({ tasks, clock }: PageContext): Route[] {
  function taskOf({ params }: WebRequest): Task {
    const task = tasks.get(params['id'] ?? '');
    if (task === null) {
      throw notFound('There is no task with this number. The newest 200 tasks are kept; the audit log has older ones.');
    }
    return task;
  }

  async function list(): Promise<WebAnswer> {
    const rows = tasks
      .list()
      .map((task) => [
        html`<a href="/tasks/${task.id}">${task.title}</a>`,
        task.who,
        timeOf(task.startedAt),
        standingOf(task),
      ]);
    const columns = [{ name: 'task' }, { name: 'started by' }, { name: 'started' }, { name: 'state' }];
    const table = dataTable({ caption: 'Tasks', columns, rows, empty: 'Nobody has started anything yet.' });
    const body = html`${pageHead('Tasks')}<div id="tasks" data-live>${card(null, table)}</div>`;
    return { type: 'page', title: 'Tasks', at: '/tasks', body };
  }

  async function one(request: WebRequest): Promise<WebAnswer> {
    const task = taskOf(request);
    const heading = task.title.replace(/\.$/, '');
    const body = html`${pageHead(heading)}<div id="task" data-live>${taskCard(task, clock.now())}${
      task.endedAt === null && mayStop(task, request)
        ? confirmForm(request, { action: `/tasks/${task.id}/stop`, button: 'Stop this task', tone: 'grave' })
        : null
    }</div>`;
    return { type: 'page', title: heading, at: '/tasks', body };
  }

  async function stop(request: WebRequest): Promise<WebAnswer> {
    const task = taskOf(request);
    if (!mayStop(task, request)) throw new WebFault(403, 'Only an operator may stop the task of somebody else.');
    const notice = tasks.stop(task.id)
      ? { text: 'The task is being stopped.', tone: 'good' as const }
      : { text: 'The task had already ended.', tone: 'warn' as const };
    return { type: 'redirect', to: `/tasks/${task.id}`, notice };
  }

  return [
    get('/tasks', 'viewer', list, { fields: { names: [], all: { path: '/tasks', name: 'All tasks' } } }),
    get('/tasks/:id', 'viewer', one),
    post('/tasks/:id/stop', 'editor', 'task.stop', stop),
  ];
}

function mayStop(task: Task, { person }: WebRequest): boolean {
  return person.role === 'operator' || (person.role === 'editor' && person.name === task.who);
}

const BADGES = {
  running: { tone: 'idle', text: 'running' },
  done: { tone: 'good', text: 'done' },
  left: { tone: 'warn', text: 'done, something is left' },
  failed: { tone: 'bad', text: 'failed' },
  ended: { tone: 'idle', text: 'ended' },
};

function standingOf(task: Task): Html {
  const { tone, text } = BADGES[endOf(task)];
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** The progress in percent, because sources use different units: bytes of a file, or pages. */
function shareOf(done: number | null, total: number | null): string {
  if (done === null || total === null || total <= 0) return '';
  return `, ${Math.min(100, Math.floor((100 * done) / total))} %`;
}

/** A row of figures that are mostly 0 is left out then. */
function counts(count: number | undefined): string | null {
  return count === undefined || count === 0 ? null : formatCount(count);
}

function taskCard(task: Task, now: number): Html {
  const { who, startedAt, endedAt, progress, outcome } = task;
  const failed =
    outcome === null || outcome.ok ? null : html`<p class="bad">${outcome.message} ${outcome.suggestion}</p>`;
  const reads = (progress?.streams ?? []).map(
    ({ source, stream, read, done, total }) =>
      html`<li>${source}/${stream}: ${formatCount(read)} records read${shareOf(done, total)}</li>`,
  );
  const settled = progress === null ? null : formatCount(progress.settled);
  const open = progress === null || endedAt !== null ? null : progress;
  return card(null, [
    html`<p>${standingOf(task)}</p>`,
    failed,
    outcomeText(task),
    keyValues([
      ['Started by', who],
      ['Started', timeOf(startedAt)],
      ['Duration', durationOf((endedAt ?? now) - startedAt)],
      ['Sent so far', open === null ? settled : `${settled} of ${formatCount(open.settled + open.left)}`],
      ['Left to send', open === null ? null : formatCount(open.left)],
      ['Deliveries that wait for other items', open === null ? null : formatCount(open.waiting)],
      ['Passports that wait for a complete product', counts(open?.incomplete)],
      ['Sent, no answer yet', counts(open?.unconfirmed)],
    ]),
    reads.length === 0 ? null : html`<ul>${reads}</ul>`,
  ]);
}
