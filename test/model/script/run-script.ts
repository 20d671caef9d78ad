import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasTrait, NO_REASON } from '../../../src/domain/delivery/stored-reason.ts';
import type { PassportRules } from '../../../src/domain/passport.ts';
import type { ReplaySelection, ReplayState } from '../../../src/domain/ports/ledger/replay-ledger.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { readMark } from '../../../src/ledger/file/identity.ts';
import { Fault, messageOf } from '../../../src/lib/errors.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { seededRandom } from '../../support/runner/chaos.ts';
import { createVirtualTime } from '../../support/time/virtual-time.ts';
import { checkAfterFixes, checkAtRest, checkBooks, type ItemState, readItems } from '../check/check.ts';
import { checkIntake } from '../check/check-intake.ts';
import { checkLies, readEchoes, wrongItem } from '../check/check-lies.ts';
import { createWitness } from '../check/witness.ts';
import { createFence, type Death, type Fence } from '../world/fence.ts';
import { helpAsPerson, type PersonsWay } from '../world/honest-person.ts';
import { createLossyQueues } from '../world/lossy-queues.ts';
import { createModelApi, type ModelApi } from '../world/model-api.ts';
import { BASE_URL, type ModelProcess, startModelProcess } from '../world/model-process.ts';
import { createModelSource, type ModelSource, SOURCE } from '../world/model-source.ts';
import { FORMS } from '../world/platform-forms.ts';
import type { Milestones } from './milestones.ts';
import { type ChangeStep, KEY_MODES, type KeyMode, type Script, type Setup, type Step } from './script.ts';

const START_MS = Date.UTC(2027, 0, 15, 2, 30);
/** The timeout of the client. The delays of the profile are short too, so that a run takes little virtual time. */
const TIMEOUT_MS = 1000;
/** Blocked deliveries are checked at this interval. */
const RECHECK_LOOK_MS = 61_000;
/** Work that lasts longer than this never ends. A list that could not be used is read again after half of this time. */
const RESTLESS_MS = 10 * 60_000;
/**
 * All work counts as done if this many checks in a row find nothing to do. Within that time passports are evaluated and
 * lost wake-up jobs are noticed.
 */
const LOOKS_AT_REST = 4;
/** Work that needs a refused list waits for ever. All else is done if the ledger stays the same for this many checks. */
const LOOKS_WITHOUT_LIST = 25;
const LOOK_MS = 600;
/** A list that the platform has refused is not read again before this time has passed. */
const REFUSED_LIST_MS = 3_600_000;
const PAUSE_MS = 20;
/** The time between mapping and storing a record. The record may change meanwhile. */
const STAGE_PAUSE_MS = 300;
/** A person takes longer than the platform works on requests of a dead process. */
const PERSON_MS = 400;

/** The longest time that a call waits for a change. Without it, the two could wait for each other. */
const CHANGE_MS_MAX = 200;

function profileOf({ trust, productUpdate, membersMax, creates = 'off', recheckBlockedMs, platform }: Setup): Profile {
  const form = FORMS[platform?.form ?? 'plain'].profile;
  return Profile.parse({
    ...form,
    idempotency: trust,
    productUpdate,
    imports: {
      membersMax,
      creates: creates === 'off' ? 'off' : 'auto',
      createsMin: 2,
      // The platform of the model stores all rows before it answers.
      settlesWithinMs: 3000,
    },
    recheckBlockedMs,
    ...(platform && { answers: { withoutProof: platform.withoutProof } }),
    timeouts: { headersMs: TIMEOUT_MS },
    list: { lagMs: 700, ...('list' in form && form.list) },
    settlingDelayMs: { reset: 400, timeout: 1500 },
    retry: { attemptsMax: 4, backoff: { baseMs: 50, capMs: 400 } },
  });
}

function rulesOf({ policy }: Setup): PassportRules {
  const { init, publish, withdraw } = policy;
  const sources = [SOURCE];
  return {
    isConfigured: true,
    init,
    publish,
    sources,
    partSources: sources,
    bomSources: sources,
    withdrawMissingOf: withdraw ? sources : [],
    mappedFields: [],
  };
}

/** A call of a port that a process made. */
export interface ObservedCall {
  name: string;
  given: readonly unknown[];
  /** Whether a change of the desired state was planned for this call. */
  isChosen: boolean;
}

/** Watches a script as it is played. */
export interface Observer {
  called?(call: ObservedCall): void;
  /** Called when a change was planned. Calls are counted from here on. */
  planned?(): void;
  /** Called after the last step of the script. */
  played?(): void;
  /** Called when the desired state changes at the chosen call. */
  changing?(items: ItemState[]): void;
  /** Called when a person has asked for a passport and was not refused. */
  asked?(product: string, status: 'published' | 'unpublished'): void;
  /** Called at the end. Returns what is wrong. */
  ended?(end: { items: ItemState[]; api: ModelApi; source: ModelSource }): string[];
}

/** So many lost jobs of one queue are a fault that ends a run. */
const LOST_MIN = 3;

/** Plays a script to its end. Returns every breach of an invariant. */
export async function runScript(
  mode: KeyMode,
  { setup, steps }: Script,
  { reach }: Pick<Milestones, 'reach'>,
  observer: Observer = {},
): Promise<string[]> {
  const random = seededRandom(setup.chance);
  const time = createVirtualTime(START_MS);
  const folder = mkdtempSync(join(tmpdir(), 'dpp-model-'));
  const problems: string[] = [];
  const witness = createWitness();
  const {
    foreign,
    form = 'plain',
    closed = null,
    assumesEmpty = false,
    withoutProof: _,
    ...told
  } = setup.platform ?? {};
  const platform = { ...told, ...FORMS[form].platform };
  const api: ModelApi = createModelApi({
    settings: { ...KEY_MODES[mode], import: { answer: setup.importAnswer }, pageSize: setup.pageSize, ...platform },
    ...(foreign && { foreign }),
    closed,
    turns: steps.some((step) => step.do === 'turn'),
    time,
    witness: {
      write: (write) => witness.write(write),
      effect(effect) {
        witness.effect(effect);
        if (setup.platform) problems.push(...wrongItem(effect, witness.sentUnder(effect.key), { api, file }));
      },
    },
    timeoutMs: TIMEOUT_MS,
    random: setup.even ? () => 0.5 : random,
  });
  const queues = createLossyQueues({ time, onThrow: (error) => void problems.push(`Threw: ${messageOf(error)}`) });
  const source = createModelSource(setup);
  const profile = profileOf(setup);
  const rules = rulesOf(setup);

  const breaches = (): string[] => (setup.platform ? witness.breaches.filter(isNoEffectOfLies) : witness.breaches);

  function pauseMs(call: string): number {
    if (!setup.halting) return 0;
    if (call === 'stage' || call === 'stagePage') return random() < 0.5 ? Math.ceil(random() * STAGE_PAUSE_MS) : 0;
    return random() < 0.1 ? Math.ceil(random() * PAUSE_MS) : 0;
  }

  const hasClosedLists = (): boolean => closed !== null && api.hasTurned();

  let restless = false;
  let lives = 0;
  let file = join(folder, 'ledger-0.db');
  let fence: Fence;
  let current: ModelProcess | null = null;
  let graveyard: ModelProcess[] = [];
  let backup: { file: string; generation: number } | null = null;

  /**
   * Keeps the disk as it is at the instant of death. What the dead process still writes goes into a file that nobody
   * reads.
   */
  function bury(): void {
    const left = file;
    lives += 1;
    file = join(folder, `ledger-${lives}.db`);
    copyLedger(left, file);
    if (current?.isPulling()) reach('a process died amid a pull');
    problems.push(...checkIntake(file, source));
    noteDeath(readItems(file));
    witness.died();
    witness.detach();
    queues.abandon();
    api.hangUp();
    forgetEchoes();
    if (current) graveyard.push(current);
    current = null;
  }

  /** A process that dies may not have stored that an answer has repeated what was sent. */
  function forgetEchoes(): void {
    const stored = readEchoes(file);
    for (const operation of api.echoed) if (!stored.has(operation)) api.echoed.delete(operation);
  }

  /** Records in which state requests that were sent for the first time were when their process died. */
  function noteDeath(items: readonly ItemState[]): void {
    for (const { kind, key, open } of items) {
      if (open?.state !== 'sending' || open.attempts > 0 || witness.isUnderWay(`${kind} ${key}`)) continue;
      const hasAnswer = witness.evidenceFor(open.number).size > 0;
      reach(`a process died between ${hasAnswer ? 'an answer and its settlement' : 'a claim and its request'}`);
    }
  }

  function start(): void {
    const onCircle = (): void => void problems.push('I5: it goes round in circles, and no time passes.');
    fence = createFence({
      time,
      onDeath: bury,
      onCircle,
      pauseMs,
      onCall: (name, given, isChosen) => observer.called?.({ name, given, isChosen }),
    });
    const { process, started } = startModelProcess({
      file,
      profile,
      rules,
      fence,
      time,
      random,
      transport: api.transport(),
      queues: queues.queues(),
      source,
      assumesEmpty,
      proof:
        setup.creates === 'proven'
          ? { state: 'proven', size: 1, answersIds: setup.importAnswer === 'per-row', form: [] }
          : { state: 'untried' },
      reach,
    });
    current = process;
    witness.attach(file);
    noted(started);
  }

  function noted(work: Promise<unknown> | undefined): void {
    work?.catch((error: unknown) => {
      // A queue that loses its jobs again and again ends a run. The next run reads the page again.
      const isByQueue = error instanceof Fault && error.code === 'queue.unreachable' && queues.lost() >= LOST_MIN;
      if (!isByQueue) problems.push(`Threw: ${messageOf(error)}`);
    });
  }

  async function clearGraveyard(): Promise<void> {
    for (const dead of graveyard.splice(0)) {
      problems.push(...circles(dead.errors()));
      await dead.discard();
    }
  }

  /** Starts a process where the last one has died. */
  async function revive(downMs: number): Promise<void> {
    if (current) return;
    await time.pass(downMs);
    await clearGraveyard();
    start();
    await time.settle();
  }

  async function crash(death: Death, downMs: number): Promise<void> {
    fence.plan(death);
    await time.pass(300);
    fence.kill();
    await revive(downMs);
  }

  async function play(step: Step): Promise<void> {
    await revive(0);
    switch (step.do) {
      case 'edit':
        return source.set(step.row, step.to);
      case 'fill':
        return source.fill(step.to);
      case 'pull':
        return noted(current?.pull());
      case 'remap':
        return source.remap();
      case 'wait':
        return time.pass(step.ms);
      case 'crash':
        return crash(step.death, step.downMs);
      case 'change at':
        observer.planned?.();
        return fence.planAt(step.point, () => change(step.steps));
      case 'fault':
        return api.add(step.fault);
      case 'gate':
        if (!step.open && step.reopensMs !== null) time.after(step.reopensMs, () => api.setGate(true));
        return api.setGate(step.open);
      case 'outage':
        api.beginOutage(step.outage);
        return time.pass(Math.floor(step.outage.ms / 2));
      case 'clock':
        return setClock(step.byMs, step.asleep);
      case 'backup':
        return backUp(step.by);
      case 'restore':
        return restore(step.by);
      case 'job_faults':
        return queues.plan(step.faults);
      case 'wipe':
        return queues.wipe();
      case 'ask':
        return noted(ask(step));
      case 'replay':
        return noted(current?.replay({ selection: selectionOf(step.states), force: false, dryRun: false }));
      case 'person':
        return help(step.way);
      case 'turn':
        return api.turn();
    }
  }

  async function ask({ product, status }: Extract<Step, { do: 'ask' }>): Promise<void> {
    const key = `P${product + 1}`;
    for (const { result } of (await current?.askFor([key], status)) ?? []) {
      if (result !== 'incomplete') observer.asked?.(key, status);
    }
  }

  /** Changes the desired state. A call of the process may wait for this, so the time is limited. */
  async function change(steps: readonly ChangeStep[]): Promise<void> {
    observer.changing?.(readItems(file));
    const changing = (async () => {
      for (const step of steps) {
        if (step.do === 'edit') source.set(step.row, step.to);
        else if (step.do === 'pull') await current?.pull();
        else if (step.do === 'ask') await ask(step);
        else fence.kill();
      }
    })();
    noted(changing);
    await Promise.race([changing.catch(() => undefined), time.sleep(CHANGE_MS_MAX)]);
  }

  async function help(way: PersonsWay): Promise<void> {
    if (current) await helpAsPerson(file, way, { process: current, api, witness, time, reach });
  }

  async function setClock(byMs: number, asleep: boolean): Promise<void> {
    if (asleep) {
      fence.kill();
      // A clock that is set forward while no process runs looks like a long pause. After it no request is in flight any
      // more.
      await time.pass(PERSON_MS);
    }
    time.set(byMs);
    reach(byMs > 0 ? 'the clock was set forward' : 'the clock was set back');
    if (asleep && byMs < 0) reach('the clock was set back while nothing ran');
    await revive(0);
  }

  async function backUp(by: 'command' | 'copy'): Promise<void> {
    const to = join(folder, 'backup.db');
    for (const part of LEDGER_PARTS) rmSync(to + part, { force: true });
    if (by === 'copy') copyLedger(file, to);
    else backUpLedger({ file, to, force: true, now: time.now(), onStep: () => undefined });
    backup = { file: to, generation: readMark(file)?.generation ?? 0 };
  }

  async function restore(by: 'command' | 'hand'): Promise<void> {
    if (backup === null) return;
    fence.kill();
    await time.pass(PERSON_MS);
    await clearGraveyard();
    if (by === 'hand') {
      for (const part of ['', '-wal']) rmSync(file + part, { force: true });
      for (const part of ['', '-wal']) {
        if (existsSync(backup.file + part)) copyFileSync(backup.file + part, file + part);
      }
      if (readMark(file)?.generation !== backup.generation) await assertRecognised();
    }
    const from = by === 'hand' ? null : backup.file;
    restoreLedger({ file, from, target: BASE_URL, profile, clock: time });
    reach('a backup was restored');
    source.ledgerRestored();
    start();
    witness.restored();
    await time.settle();
  }

  /** Checks that nothing is written to an older copy that a person has put in the place of the ledger. */
  async function assertRecognised(): Promise<void> {
    try {
      start();
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'ledger.restored')) throw error;
      reach('an older copy was recognised');
      return;
    }
    problems.push('I8: an older copy of the ledger is taken for the ledger.');
    fence.kill();
    await clearGraveyard();
  }

  /** Lets time pass until all work is done. */
  async function comeToRest(): Promise<void> {
    let looks = 0;
    let states = '';
    for (const latest = time.ticks() + RESTLESS_MS; time.ticks() < latest && !restless; ) {
      await revive(0);
      let resting = false;
      const look = async (): Promise<void> => {
        const isAtRest = (await current?.isAtRest()) === true && api.working() === 0;
        const before = states;
        if (hasClosedLists()) states = statesIn(file);
        resting = isAtRest || (states !== '' && states === before);
      };
      noted(look());
      // The check itself may take time.
      await time.pass(LOOK_MS);
      looks = resting ? looks + 1 : 0;
      if (looks >= (hasClosedLists() ? LOOKS_WITHOUT_LIST : LOOKS_AT_REST)) return;
    }
    problems.push('I5: it does not come to rest.');
    restless = true;
  }

  function check(): void {
    const updatesProducts = setup.productUpdate === 'import';
    const hasAsked = steps.some((step) => step.do === 'ask');
    problems.push(
      ...checkAtRest(file, { api, witness, source, updatesProducts, hasAsked }),
      ...checkIntake(file, source),
    );
  }

  try {
    if (setup.full) source.fill('a');
    start();
    await time.settle();
    for (const step of steps) {
      await play(step);
      if (breaches().length > 0) break;
    }
    observer.played?.();
    // All faults end, and the source is read once more, so that all work can be finished.
    api.heal();
    queues.heal();
    await comeToRest();
    if (readItems(file).some(isHeldWithoutList)) await time.pass(REFUSED_LIST_MS);
    noted((current as ModelProcess | null)?.pull());
    await comeToRest();
    if (setup.platform) problems.push(...checkLies(file, { api, source, setup, isCalm: steps.every(isCalm) }));
    else check();
    // Everything that is stuck has a way out: fix the rows, lift the business rules, replay, look at the platform.
    if (!setup.platform && problems.length === 0 && witness.breaches.length === 0) await fixEverything();
    if (setup.platform || problems.length === 0)
      problems.push(...(observer.ended?.({ items: readItems(file), api, source }) ?? []));
    problems.push(...checkBooks(file, queues));
    const last = current as ModelProcess | null;
    if (last) problems.push(...circles(last.errors()));
    return [...breaches(), ...problems];
  } finally {
    witness.detach();
    fence!.kill();
    witness.detach();
    await time.settle();
    for (const dead of graveyard) await dead.discard();
    await removeFolder(folder);
  }

  async function fixEverything(): Promise<void> {
    api.setGate(true);
    api.openBomGate();
    source.fixRows();
    noted((current as ModelProcess | null)?.pull());
    await comeToRest();
    await waitForRechecks();
    for (let round = 0; round < 4 && checkAfterFixes(file).length > 0; round += 1) {
      await help(round % 2 === 0 ? 'force' : 'settle');
      noted(
        (current as ModelProcess | null)?.replay({
          // A delivery that waits for a write which a person has ended continues after that write is replayed.
          selection: selectionOf(['blocked', 'rejected', 'parked', 'superseded']),
          force: false,
          dryRun: false,
        }),
      );
      await comeToRest();
    }
    check();
    problems.push(...checkAfterFixes(file));
  }

  /** Waits until deliveries that a business rule has blocked were sent again. */
  async function waitForRechecks(): Promise<void> {
    const overdue = (): ItemState[] =>
      readItems(file).filter(({ open }) => {
        return open?.state === 'blocked' && open.dueAt > 0 && open.dueAt <= time.now() - RECHECK_LOOK_MS;
      });
    const waits = readItems(file).some(({ open }) => open?.state === 'blocked' && open.dueAt > 0);
    if (!waits || setup.recheckBlockedMs > RECHECK_LOOK_MS) return;
    await time.pass(Math.ceil(1.2 * setup.recheckBlockedMs) + RECHECK_LOOK_MS);
    await comeToRest();
    for (const { kind, key } of overdue()) problems.push(`I5: ${kind} ${key} is blocked and was not asked again.`);
  }
}

/** True for a write that a person has to settle because a list was refused. A later run reads the list again. */
function isHeldWithoutList({ kind, open }: ItemState): boolean {
  if (open?.state !== 'in_doubt' || open.dueAt > 0 || kind === 'bom_item') return false;
  return hasTrait(open.reason ?? NO_REASON, 'was_answered');
}

/** All items with the states of their open deliveries, without the times of the next looks. */
function statesIn(file: string): string {
  return JSON.stringify(readItems(file), (name, value: unknown) => (name === 'dueAt' ? undefined : value));
}

function selectionOf(states: readonly ReplayState[]): ReplaySelection {
  return { states, sources: [], keys: [], deliveryIds: [] };
}

/** A lie may undo the changes of an import, so that a second import changes the same products again. */
function isNoEffectOfLies(breach: string): boolean {
  return !(breach.startsWith('I6: one revision') && breach.endsWith('(product.import).'));
}

function isCalm(step: Step): boolean {
  return step.do !== 'fault' && step.do !== 'crash' && step.do !== 'turn';
}

const LEDGER_PARTS = ['', '-wal', '.mark'] as const;

/** Copies the ledger as it is now, with its log. */
function copyLedger(from: string, to: string): void {
  for (const part of LEDGER_PARTS) if (existsSync(from + part)) copyFileSync(from + part, to + part);
}

function circles(errors: readonly string[]): string[] {
  return errors.filter((error) => error.startsWith('Deliveries cannot continue'));
}
