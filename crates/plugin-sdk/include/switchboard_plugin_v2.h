/* Switchboard plugins, version 2 of the binary interface.
 *
 * A plugin is a shared object that exports switchboard_plugin_v2, which returns a static table. It may offer tools,
 * prompts, resources and resource templates at once, and handle methods of its own. It runs in a process of its own.
 *
 * Payloads are JSON texts: what `describe` says of an item is what clients see, word for word. Whoever makes a text
 * frees it. Strings have a length and need no NUL at their end.
 */
#ifndef SWITCHBOARD_PLUGIN_V2_H
#define SWITCHBOARD_PLUGIN_V2_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SB_PLUGIN_MAGIC UINT64_C(0x3247554C50425753) /* "SWBPLUG2", little endian */
#define SB_PLUGIN_ABI 2u

/* sb_plugin.flags: calls may run at the same time, on any thread. */
#define SB_THREAD_SAFE UINT64_C(1)

/* What functions return. */
#define SB_OK 0        /* the text is the result, a JSON object */
#define SB_ERROR 1     /* the text is a JSON-RPC error object: {"code", "message", "data"} */
#define SB_CANCELLED 2 /* nobody waits any more; there is no text */

/* UTF-8, of somebody else; ptr is NULL where there is none. */
typedef struct {
    const char *ptr;
    size_t len;
} sb_text;

/* A text that its maker frees, through sb_plugin.release or sb_host.release. */
typedef struct {
    sb_text text;
    void *owner; /* the maker's own */
} sb_answer;

/* A call under way, valid until `handle` returns. */
typedef struct sb_call sb_call;

/* What the host offers. Any function may be called from any thread while the call lasts. */
typedef struct {
    uint64_t magic;
    uint32_t abi;
    uint32_t size; /* of this table: later hosts add to its end */
    /* level: 0 debug, 1 info, 2 notice, 3 warning, 4 error, 5 critical, 6 alert, 7 emergency; data is JSON */
    void (*log)(const sb_call *call, int32_t level, sb_text logger, sb_text data);
    /* total: negative where it is unknown */
    void (*progress)(const sb_call *call, double progress, double total, sb_text message);
    int32_t (*cancelled)(const sb_call *call); /* not zero once nobody waits for the call */
    /* Without a call (NULL) it is for every client: notifications/tools/list_changed, notifications/resources/updated */
    void (*notify)(const sb_call *call, sb_text method, sb_text params);
    /* Asks the person behind the client; params are those of elicitation/create. Waits for the answer. */
    int32_t (*elicit)(const sb_call *call, sb_text params, sb_answer *answer);
    /* Asks the client anything a server may ask. Waits for the answer. The method "switchboard/questions" asks several
     * things at once: {"<key>": {"method", "params"}} is answered by {"<key>": {"result"} or {"error"}}. The method
     * "switchboard/task" makes the call a task: its client gets a handle, and the function goes on. */
    int32_t (*request)(const sb_call *call, sb_text method, sb_text params, sb_answer *answer);
    void (*release)(sb_answer *answer);
    const void *(*get_extension)(sb_text id); /* NULL if there is none of that name */
} sb_host;

/* What a plugin is; static in it. */
typedef struct {
    uint64_t magic;
    uint32_t abi;
    uint32_t size; /* sizeof(sb_plugin) */
    uint64_t flags;
    sb_text name;
    sb_text version;
    /* Makes an instance. The host outlives it. */
    int32_t (*create)(const sb_host *host, void **instance, sb_answer *answer);
    void (*destroy)(void *instance);
    /* {"tools": [...], "prompts": [...], "resources": [...], "resourceTemplates": [...], "methods": ["..."],
     *  "completions": true, "extensions": {"<id>": {}}, "instructions": "..."}, each where there is any */
    int32_t (*describe)(void *instance, sb_answer *answer);
    /* Answers tools/call, prompts/get, resources/read, completion/complete and the methods it named. */
    int32_t (*handle)(void *instance, const sb_call *call, sb_text method, sb_text params, sb_answer *answer);
    void (*release)(void *instance, sb_answer *answer);
    void (*subscribe)(void *instance, sb_text uri, int32_t on); /* may be NULL */
    const void *(*get_extension)(void *instance, sb_text id);   /* may be NULL */
} sb_plugin;

/* What a plugin exports. */
const sb_plugin *switchboard_plugin_v2(void);

#ifdef __cplusplus
}
#endif

#endif
