/**
 * The words of permission questions, the same as in every other front (`core::permission::wording`; a test compares them).
 * Used by the questions, the remembered answers and the notifications.
 */

/** A permission question as a sentence. */
export const permissionSentence = ({ client, server, about }) => `${client || 'A client'} wants to call ${about.tool} on ${server}.`;

/** The answers: the words on the button, what it sends, and how it looks. */
export const ANSWERS = [
  { label: 'Allow once', action: 'allow', remember: 'once', kind: 'main' },
  { label: 'Allow for this session', action: 'allow', remember: 'session' },
  { label: 'Always allow in this project', action: 'allow', remember: 'project' },
  { label: 'Always allow', action: 'allow', remember: 'always' },
  { label: 'Deny', action: 'deny', remember: 'once', kind: 'grave' },
  { label: 'Always deny', action: 'deny', remember: 'never', kind: 'grave' },
];

/** A remembered answer in the words of its button. */
export const answerLabel = (remembered) => ANSWERS.find(({ remember }) => remember === remembered)?.label ?? remembered;

/** What the annotations of a tool mean for a person who decides. */
export const describeAnnotations = ({ readOnlyHint, destructiveHint, openWorldHint } = {}) => [
  destructiveHint !== false && !readOnlyHint && 'may delete or overwrite',
  readOnlyHint && 'says that it only reads',
  openWorldHint && 'reaches beyond this machine',
].filter(Boolean).join(', ');
