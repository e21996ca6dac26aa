/* Switchboard plugins, version 1 of the binary interface.
 *
 * A plugin is a shared object that exports CreatePlugin and DestroyPlugin. It offers items of one kind. The host calls
 * it from one thread at a time, in a process of its own.
 *
 * Write new plugins for version 2 (switchboard_plugin_v2.h), which can do more.
 */
#ifndef SWITCHBOARD_PLUGIN_V1_H
#define SWITCHBOARD_PLUGIN_V1_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a plugin offers. */
typedef enum {
    PLUGIN_TYPE_TOOLS = 0,
    PLUGIN_TYPE_PROMPTS = 1,
    PLUGIN_TYPE_RESOURCES = 2
} PluginType;

/* Items. Every string is static in the plugin and ends with a NUL. */
typedef struct {
    const char *name;
    const char *description;
    const char *inputSchema; /* JSON: the schema of the arguments */
} PluginTool;

typedef struct {
    const char *name;
    const char *description;
    const char *arguments; /* JSON: a list of {"name", "description", "required"} */
} PluginPrompt;

typedef struct {
    const char *name;
    const char *description;
    const char *uri;
    const char *mime;
} PluginResource;

/* What the host offers. */
typedef struct {
    /* Sends a complete JSON-RPC notification to the client whose call is running. The text is copied. May be called
     * from any thread. */
    void (*SendToClient)(const char *plugin_name, const char *json);
} NotificationSystem;

typedef struct {
    const char *(*GetName)(void);
    const char *(*GetVersion)(void);
    PluginType (*GetType)(void);
    int (*Initialize)(void); /* not zero is success */
    /* Takes a whole JSON-RPC request, valid during the call. Returns the result object as text, made with `new char[]`
     * (or malloc, where the plugin has no C++ runtime); the host frees it. NULL is failure. */
    char *(*HandleRequest)(const char *request);
    void (*Shutdown)(void);
    /* Those of the kinds that the plugin is not of are NULL. */
    int (*GetToolCount)(void);
    const PluginTool *(*GetTool)(int index);
    int (*GetPromptCount)(void);
    const PluginPrompt *(*GetPrompt)(int index);
    int (*GetResourceCount)(void);
    const PluginResource *(*GetResource)(int index);
    NotificationSystem *notifications; /* NULL at first; written by the host before Initialize */
} PluginAPI;

/* What a plugin exports. */
PluginAPI *CreatePlugin(void);
void DestroyPlugin(PluginAPI *plugin);

#ifdef __cplusplus
}
#endif

#endif
