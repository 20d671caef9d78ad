import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PassportRules } from '../../../src/domain/passport.ts';
import type { ReplaySelection, ReplayState } from '../../../src/domain/ports/ledger.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import { seededRandom } from '../chaos.ts';
import { checkAtRest, checkBooks, checkMended } from './check.ts';
import { createFence, type Death, type Fence } from './fence.ts';
import { helpAsPerson } from './honest-person.ts';
import { createLossyQueues } from './lossy-queues.ts';
import { createModelApi } from './model-api.ts';
import { type ModelProcess, startModelProcess } from './model-process.ts';
import { createModelSource, ROWS, SOURCE } from './model-source.ts';
import { KEY_MODES, type KeyMode, type Script, type Setup, type Step } from './script.ts';
import { createVirtualTime } from './virtual-time.ts';
import { createWitness } from './witness.ts';

const START_MS = Date.UTC(2027, 0, 15, 2, 30);
/** Of the client; the profile's delays are short, so that a run has little virtual time to go through. */
const TIMEOUT_MS = 1000;
/** Where there is still something to do after as long as this, it goes round in circles. */
const RESTLESS_MS = 5 * 60_000;
/** A run is at rest where it is found so this often, a while apart: passports are judged and lost doorbells noticed within a second. */
const LOOKS_AT_REST = 4;
const LOOK_MS = 600;
const PAUSE_MS = 20;

/** A folder in memory where the machine has one: the runs wait for no disk. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

function profileOf({ trust, productUpdate, membersMax }: Setup): Profile {
  return Profile.parse({
    idempotency: trust,
    productUpdate,
    imports: { membersMax },
    timeouts: { headersMs: TIMEOUT_MS },
    settlingDelayMs: { reset: 400, timeout: 1500 },
    retry: { attemptsMax: 4, backoff: { baseMs: 50, capMs: 400 } },
  });
}

function rulesOf({ policy }: Setup): PassportRules {
  const { init, publish, withdraw } = policy;
  const sources = [SOURCE];
  return {
    init,
    publish,
    sources,
    partSources: sources,
    bomSources: sources,
    withdrawMissingOf: withdraw ? sources : [],
  };
}

/** Plays a script to its end and gives every breach of an invariant that it led to. */
export async function runScript(mode: KeyMode, { setup, steps }: Script): Promise<string[]> {
  const random = seededRandom(setup.chance);
  const time = createVirtualTime(START_MS);
  const folder = mkdtempSync(join(ROOT, 'dpp-model-'));
  const problems: string[] = [];
  const witness = createWitness();
  const api = createModelApi({
    settings: { ...KEY_MODES[mode], import: { answer: setup.importAnswer }, pageSize: setup.pageSize },
    time,
    witness,
    timeoutMs: TIMEOUT_MS,
    random,
  });
  const queues = createLossyQueues({ time, onThrow: (error) => void problems.push(`Threw: ${messageOf(error)}`) });
  const source = createModelSource();
  const profile = profileOf(setup);
  const rules = rulesOf(setup);

  const pauseMs = (): number => (setup.halting && random() < 0.1 ? Math.ceil(random() * PAUSE_MS) : 0);

  let restless = false;
  let lives = 0;
  let file = join(folder, 'ledger-0.db');
  let fence: Fence;
  let current: ModelProcess | null = null;
  let graveyard: ModelProcess[] = [];

  /** The disk stays as it is at the instant of death; what the dead process still writes goes into a file of no account. */
  function bury(): void {
    const left = file;
    lives += 1;
    file = join(folder, `ledger-${lives}.db`);
    for (const part of ['', '-wal']) if (existsSync(left + part)) copyFileSync(left + part, file + part);
    witness.died();
    witness.detach();
    queues.abandon();
    api.hangUp();
    if (current) graveyard.push(current);
    current = null;
  }

  function start(): void {
    fence = createFence({ time, onDeath: bury, pauseMs });
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
    });
    current = process;
    witness.attach(file);
    noted(started);
  }

  function noted(work: Promise<unknown> | undefined): void {
    work?.catch((error: unknown) => void problems.push(`Threw: ${messageOf(error)}`));
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
        for (const row of ROWS.keys()) source.set(row, step.to);
        return;
      case 'pull':
        return noted(current?.pull());
      case 'remap':
        return source.remap();
      case 'wait':
        return time.pass(step.ms);
      case 'crash':
        return crash(step.death, step.downMs);
      case 'fault':
        return api.add(step.fault);
      case 'gate':
        return api.setGate(step.open);
      case 'bells':
        return queues.plan(step.faults);
      case 'wipe':
        return queues.wipe();
      case 'ask':
        return noted(current?.askFor([`P${step.product + 1}`], step.status));
      case 'replay':
        return noted(current?.replay({ selection: selectionOf(step.states), force: false, dryRun: false }));
      case 'person':
        return void (current && (await helpAsPerson(file, { process: current, api, witness, profile, time })));
    }
  }

  /** Goes on until nothing does. */
  async function comeToRest(): Promise<void> {
    let looks = 0;
    for (const latest = time.now() + RESTLESS_MS; time.now() < latest && !restless; ) {
      await revive(0);
      let resting = false;
      const look = async (): Promise<void> => {
        resting = (await current?.isAtRest()) === true && api.working() === 0;
      };
      noted(look());
      // Looking may take its time, too.
      await time.pass(LOOK_MS);
      looks = resting ? looks + 1 : 0;
      if (looks >= LOOKS_AT_REST) return;
    }
    problems.push('I5: it does not come to rest.');
    restless = true;
  }

  function check(): void {
    problems.push(...checkAtRest(file, { api, witness, wanted: source.items() }));
  }

  try {
    if (setup.full) for (const row of ROWS.keys()) source.set(row, 'a');
    start();
    await time.settle();
    for (const step of steps) {
      await play(step);
      if (witness.breaches.length > 0) break;
    }
    // The weather clears, and the source is read once more: what the run was hard on comes to rest.
    api.heal();
    queues.heal();
    await comeToRest();
    noted((current as ModelProcess | null)?.pull());
    await comeToRest();
    check();
    // Everything that is stuck has a way out: mend the rows, open the gates, ask again, look at the platform.
    if (problems.length === 0 && witness.breaches.length === 0) await mend();
    problems.push(...checkBooks(file, queues));
    const last = current as ModelProcess | null;
    if (last) problems.push(...circles(last.errors()));
    return [...witness.breaches, ...problems];
  } finally {
    witness.detach();
    fence!.kill();
    witness.detach();
    await time.settle();
    for (const dead of graveyard) await dead.discard();
    rmSync(folder, { recursive: true });
  }

  async function mend(): Promise<void> {
    api.setGate(true);
    api.openBomGate();
    source.mend();
    noted((current as ModelProcess | null)?.pull());
    await comeToRest();
    for (let round = 0; round < 4 && checkMended(file).length > 0; round += 1) {
      if (current) await helpAsPerson(file, { process: current, api, witness, profile, time });
      noted(
        (current as ModelProcess | null)?.replay({
          selection: selectionOf(['blocked', 'rejected', 'parked']),
          force: false,
          dryRun: false,
        }),
      );
      await comeToRest();
    }
    check();
    problems.push(...checkMended(file));
  }
}

function selectionOf(states: readonly ReplayState[]): ReplaySelection {
  return { states, sources: [], keys: [], deliveryIds: [] };
}

function circles(errors: readonly string[]): string[] {
  return errors.filter((error) => error.startsWith('Deliveries cannot go on'));
}
