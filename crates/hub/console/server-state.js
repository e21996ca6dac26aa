/** The state of a server in a word, with its colour. Used by every page that shows servers. */

import { h } from './dom.js';

export const TONES = { connected: 'good', idle: 'good', failed: 'bad', invalid: 'bad', blocked: 'bad', rejected: 'bad', 'needs-auth': 'warn', 'awaiting-approval': 'warn' };

const WORDS = { 'needs-auth': 'sign-in needed', 'awaiting-approval': 'awaiting approval', pending: 'connecting' };

export const stateWord = ({ state, silentSince }) => (silentSince ? 'does not answer' : WORDS[state] ?? state);

export const state = (server) => h('span', { className: `state ${server.silentSince ? 'warn' : TONES[server.state] ?? ''}` }, stateWord(server));

/** Why a server is not as it should be, in one line. */
export const why = ({ why: reason, error }) => reason ?? error?.causes?.join(': ');
