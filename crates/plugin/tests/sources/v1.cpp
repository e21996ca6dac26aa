// A plugin of the first version of the interface that can be told to do everything wrong.
// What it is depends on how it is compiled: see the uses of `Source` in the tests.
#include "switchboard_plugin_v1.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifndef VERSION
#define VERSION "1.0"
#endif
#ifndef NAME
#define NAME "v1"
#endif
#ifndef TOOL
#define TOOL "act"
#endif
#ifndef SCHEMA
#define SCHEMA "{\"type\":\"object\",\"properties\":{\"how\":{\"type\":\"string\"}}}"
#endif

#ifdef UNRESOLVED
extern "C" void nobody_has_this(void);
#endif

static PluginAPI *self;

static const PluginTool tools[] = {
    {TOOL, "Does what it is told.", SCHEMA},
#ifdef MORE
    {"more", "One more.", "{\"type\":\"object\"}"},
#endif
};

static char *copied(const std::string &text) {
    char *result = new char[text.size() + 1];
    memcpy(result, text.c_str(), text.size() + 1);
    return result;
}

static std::string said(const std::string &text) {
    return "{\"content\":[{\"type\":\"text\",\"text\":\"" + text + "\"}],\"isError\":false}";
}

static std::string member(const std::string &request, const std::string &key) {
    const std::string mark = "\"" + key + "\":\"";
    size_t at = request.find(mark);
    if (at == std::string::npos) return "";
    at += mark.size();
    return request.substr(at, request.find('"', at) - at);
}

// The worker's way to its host, which is not meant for plugins.
static int channel(void) {
    for (int each = 3; each < 200; ++each)
        if ((fcntl(each, F_GETFL) & O_ACCMODE) == O_WRONLY) return each;
    return -1;
}

static void repeat(int descriptor, const std::string &text) {
    while (write(descriptor, text.data(), text.size()) >= 0) {}
}

static const char *const NOTE =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}";

static char *handle(const char *text) {
    const std::string request = text, how = member(request, "how");
#ifdef ALWAYS_CRASH
    abort();
#endif
    if (how == "corrupt") {
        // Not the allocator's own words: it has to find out.
        char *volatile block = new char[24];
        memset(block - 16, 0x41, 64);
        delete[] block;
        delete[] new char[24];
        abort();
    }
    if (how == "crash") *(volatile int *)nullptr = 1;
    if (how == "throw") throw std::runtime_error("thrown on purpose");
    if (how == "abort") abort();
    if (how == "exit") exit(3);
    if (how == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
    if (how == "memory") {
        std::vector<char *> all;
        for (;;) {
            all.push_back(new char[16 << 20]);
            memset(all.back(), 1, 16 << 20);
        }
    }
    if (how == "garbage") return copied("not json {");
    if (how == "bytes") return copied("\"\xff\xfe\"");
    if (how == "list") return copied("[1,2]");
    if (how == "null") return nullptr;
    if (how == "mistake") return copied("{\"content\":[],\"isError\":true}");
    if (how == "print") { puts("printed to standard output"); fflush(stdout); }
    if (how == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (how == "progress" || how == "progress, then hang") {
        const std::string token = member(request, "progressToken");
        if (token.empty()) throw std::runtime_error("a progress token is a text");
        const std::string note = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                                 "\"progressToken\":\"" + token + "\",\"progress\":1,\"total\":2}}";
        std::thread([&] { self->notifications->SendToClient("v1", note.c_str()); }).join();
        if (how != "progress") std::this_thread::sleep_for(std::chrono::hours(1));
    }
    if (how == "chatter")
        for (int each = 0; each < 10000; ++each) self->notifications->SendToClient("v1", NOTE);
    if (how == "flood of notifications")
        for (;;) self->notifications->SendToClient("v1", NOTE);
    if (how == "flood of lines") repeat(channel(), std::string(4096, 'x') + "\n");
    if (how == "flood of line ends") repeat(channel(), std::string(4096, '\n'));
    if (how == "flood without a line end") repeat(channel(), std::string(4096, 'x'));
    if (how == "flood of errors") repeat(2, std::string(4096, 'x'));
    if (how == "lines") return copied("{\n  \"content\":\n [] }\n");
    if (how == "escape") {
        const std::string path = "/tmp/switchboard-plugin-" + std::to_string(getpid());
        FILE *file = fopen(path.c_str(), "w");
        if (file) fclose(file);
        unlink(path.c_str());
        const bool ran = system("true") == 0;
        FILE *listed = fopen("/etc/passwd", "r");
        if (listed) fclose(listed);
        return copied(said(std::string(file ? "wrote " : "") + (ran ? "ran " : "") + (listed ? "read" : "")));
    }
    if (how == "environment") {
        std::string all;
        for (char **each = environ; *each; ++each) all += std::string(*each) + ";";
        return copied(said(all));
    }
    if (how == "descriptors") {
        int count = 0;
        for (int each = 0; each < 200; ++each) count += fcntl(each, F_GETFD) != -1;
        return copied(said(std::to_string(count)));
    }
    if (how == "limits") {
        rlimit memory, files;
        getrlimit(RLIMIT_DATA, &memory);
        getrlimit(RLIMIT_NOFILE, &files);
        const bool humble = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
        return copied(said(std::to_string(memory.rlim_cur) + " " + std::to_string(files.rlim_cur) +
                           (humble ? " no new privileges" : "")));
    }
    return copied(said(VERSION));
}

static const char *name(void) { return NAME; }
static const char *version(void) { return VERSION; }
static PluginType type(void) { return PLUGIN_TYPE_TOOLS; }
static int initialize(void) {
#ifdef HANG_AT_START
    std::this_thread::sleep_for(std::chrono::hours(1));
#endif
#ifdef CRASH_AT_START
    abort();
#endif
#ifdef FAIL_INITIALIZE
    return 0;
#else
    return self->notifications != nullptr;
#endif
}
static void shutdown(void) {}
static int count(void) {
#ifdef WRONG_COUNT
    return -5;
#else
    return sizeof tools / sizeof *tools;
#endif
}
static const PluginTool *get(int index) {
#ifdef NULL_TOOL
    return nullptr;
#else
    return &tools[index];
#endif
}

extern "C" {
#ifndef MISSING_EXPORT
PluginAPI *CreatePlugin(void) {
#ifdef UNRESOLVED
    nobody_has_this();
#endif
#ifdef NULL_CREATE
    return nullptr;
#else
    self = new PluginAPI{name, version, type, initialize, handle, shutdown, count, get,
                         nullptr, nullptr, nullptr, nullptr, nullptr};
#ifdef NULL_HANDLE
    self->HandleRequest = nullptr;
#endif
    return self;
#endif
}
#endif
void DestroyPlugin(PluginAPI *plugin) { delete plugin; }
}
