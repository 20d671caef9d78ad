import type { WireForms } from '../../domain/delivery/wire-form.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Sqlite } from '../store/database.ts';

/** What the views read with. They read the rules at each call, because a reload of the config may change them. */
export interface ViewReads {
  db: Sqlite;
  passportRules: PassportRules;
  /** The forms in which the profile of this process sends items. */
  wireForms: WireForms;
}

/** What a view reads with that depends neither on the rules nor on the profile. */
export type Db = Pick<ViewReads, 'db'>;

/** Source ids as a JSON list. An empty list stands for all sources. */
export interface Listed {
  sources: string;
}

export function listed(sources: readonly string[] = []): Listed {
  return { sources: JSON.stringify(sources) };
}

/** SQL condition: true if `@sources` has the source of a row, or is empty. `of` is the name of the table in the statement. */
export function ofSources(of: string): string {
  return `(@sources = '[]' OR ${of}.source IN (SELECT value FROM json_each(@sources)))`;
}

/** The parameter of statements with `IS_MISSING`: the sources with `onMissing: unpublish`. */
export function withdrawing({ passportRules }: Pick<ViewReads, 'passportRules'>): { withdrawing: string } {
  return { withdrawing: JSON.stringify(passportRules.withdrawMissingOf) };
}

/** Runs several reads in one transaction, so that they see the same moment. */
export function inOneMoment<T>({ db }: Db, read: () => T): T {
  return db.inTransaction ? read() : db.transaction(read)();
}
