import { expect, it } from 'vitest';
import { advisedRate } from '../../../src/api/answers/retries.ts';

it.each([
  ['the draft', { 'ratelimit-policy': '"default";q=100;w=10' }, 10],
  ['several policies, of which the strictest counts', { 'ratelimit-policy': '"burst";q=100;w=1,"day";q=600;w=60' }, 10],
  ['a policy over two fields', { 'ratelimit-policy': ['"a";q=50;w=1', '"b";q=60;w=60'] }, 1],
  ['the older draft', { 'ratelimit-policy': '100;w=10' }, 10],
  ['the older draft, in the limit', { 'ratelimit-limit': '100, 100;w=10' }, 10],
  ['the name that was there before it', { 'x-ratelimit-limit': '300;w=60' }, 5],
])('the advised rate is read from %s', (_name, headers, rate) => {
  expect(advisedRate(headers)).toBe(rate);
});

it.each([
  ['nothing', {}],
  ['a quota without a window', { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '7' }],
  ['a window of no length', { 'ratelimit-policy': '"default";q=100;w=0' }],
  ['a quota of nothing', { 'ratelimit-policy': '"default";q=0;w=10' }],
  ['a quota below nothing', { 'ratelimit-policy': '"default";q=-5;w=10' }],
  ['a rate that nobody can mean', { 'ratelimit-policy': '"default";q=999999999;w=1' }],
  ['a window of years', { 'ratelimit-policy': '"default";q=100;w=99999999' }],
  ['what is no number', { 'ratelimit-policy': '"default";q=1e3;w=ten' }],
  ['what is no policy', { 'ratelimit-policy': ';;=;,,q=w' }],
])('the headers of an answer with %s advise no rate', (_name, headers) => {
  expect(advisedRate(headers)).toBeNull();
});
