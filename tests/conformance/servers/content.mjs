// What the two TypeScript conformance servers have in common: the packages of the peers, and the texts, media and forms
// that the scenarios look for. It registers nothing and knows no SDK's API.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const peers = process.env.SWITCHBOARD_PEERS;
if (!peers) {
  console.error('SWITCHBOARD_PEERS is not set: run cargo xtask conformance');
  process.exit(2);
}

// The packages live with the peers, not beside this file.
export const require = createRequire(`${peers}/npm/package.json`);

const read = (path) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));
const media = read('media.json');

export const forms = {
  contact: read('forms/contact.json'),
  defaults: read('forms/defaults.json'),
  enums: read('forms/enums.json'),
};
export const schema202012 = read('forms/schema-2020-12.json');

// A form with one required member.
export const form = (name, type) => ({
  type: 'object',
  properties: { [name]: { type } },
  required: [name],
});

export const text = (value) => ({ type: 'text', text: value });
export const image = () => ({ type: 'image', mimeType: 'image/png', data: media.png });
export const audio = () => ({ type: 'audio', mimeType: 'audio/wav', data: media.wav });
export const resource = (uri, mimeType, value) => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
});

// The results of the tools that only answer.
export const answers = {
  test_simple_text: ['Answers with text', [text('This is a simple text response for testing.')]],
  test_image_content: ['Answers with an image', [image()]],
  test_audio_content: ['Answers with a recording', [audio()]],
  test_embedded_resource: [
    'Answers with a resource',
    [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  ],
  test_multiple_content_types: [
    'Answers with text, an image and a resource',
    [
      text('Multiple content types test:'),
      image(),
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  ],
};

// The contents of the resources; the template's is a function of its id.
export const contents = {
  text: (uri) => ({ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }),
  binary: (uri) => ({ uri, mimeType: 'image/png', blob: media.png }),
  watched: (uri) => ({ uri, mimeType: 'text/plain', text: 'Watched resource content' }),
  template: (uri, id) => ({
    uri,
    mimeType: 'application/json',
    text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  }),
};

// A prompt's messages, one of the user for each content.
export const messages = (...parts) => ({
  messages: parts.map((content) => ({ role: 'user', content })),
});

const WORDS = ['paris', 'park', 'party'];
export const complete = (typed) => WORDS.filter((word) => word.startsWith(typed));
