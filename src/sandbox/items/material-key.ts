import { textMember } from '../api/operation.ts';
import type { Entity } from './collection.ts';

/** The key of a material for people: its code, or its name if it has no code. */
export function materialKey({ fields }: Entity): string {
  return textMember(fields, 'code') ?? textMember(fields, 'name') ?? '';
}
