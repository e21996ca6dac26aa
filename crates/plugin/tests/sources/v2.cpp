// A plugin of the second version of the interface that remembers which resources are wanted of it, and says so: to
// everybody, whenever that changes, as a change of the resource itself.
#include "switchboard_plugin_v2.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>

#ifndef FLAGS
#define FLAGS SB_THREAD_SAFE
#endif
#ifndef VERSION
#define VERSION "1"
#endif

namespace {

const sb_host *host = nullptr;
std::mutex guard;
std::set<std::string> wanted;

sb_text text(const std::string &text) { return {text.data(), text.size()}; }

int32_t give(std::string what, int32_t status, sb_answer *answer) {
    auto *owned = new std::string(std::move(what));
    answer->text = text(*owned);
    answer->owner = owned;
    return status;
}

int32_t create(const sb_host *given, void **instance, sb_answer *) {
    host = given;
    *instance = nullptr;
    return SB_OK;
}

void destroy(void *) {}

int32_t describe(void *, sb_answer *answer) {
    return give(R"({"tools":[
        {"name":"act","description":"Says which version it is.","inputSchema":{"type":"object"}},
        {"name":"wanted","description":"Says what is wanted.","inputSchema":{"type":"object"}},
        {"name":"flood","description":"Never stops talking.","inputSchema":{"type":"object"}},
        {"name":"hang","description":"Says so, and never ends.","inputSchema":{"type":"object"}},
        {"name":"crash","description":"Crashes.","inputSchema":{"type":"object"}}],
        "resourceTemplates":[{"uriTemplate":"note://{id}","name":"note","description":"A note."}]})", SB_OK, answer);
}

int32_t handle(void *, const sb_call *call, sb_text, sb_text params, sb_answer *answer) {
    const std::string asked(params.ptr, params.len);
    if (asked.find("\"crash\"") != std::string::npos) abort();
    while (asked.find("\"flood\"") != std::string::npos)
        host->notify(call, text("notifications/message"), text(R"({"level":"info","data":1})"));
    if (asked.find("\"hang\"") != std::string::npos) {
        host->notify(call, text("notifications/message"), text(R"({"level":"info","data":1})"));
        for (;;) pause();
    }
    std::string said = VERSION;
    if (asked.find("\"wanted\"") != std::string::npos) {
        said.clear();
        std::lock_guard<std::mutex> locked(guard);
        for (const auto &uri : wanted) said += uri + " ";
    }
    return give(R"({"content":[{"type":"text","text":")" + said + R"("}]})", SB_OK, answer);
}

void release(void *, sb_answer *answer) { delete static_cast<std::string *>(answer->owner); }

void subscribe(void *, sb_text uri, int32_t on) {
    const std::string named(uri.ptr, uri.len);
    {
        std::lock_guard<std::mutex> locked(guard);
        if (on)
            wanted.insert(named);
        else
            wanted.erase(named);
    }
    const std::string params = R"({"uri":")" + named + R"("})";
    host->notify(nullptr, text("notifications/resources/updated"), text(params));
}

const sb_plugin plugin = {
    SB_PLUGIN_MAGIC, SB_PLUGIN_ABI, sizeof(sb_plugin), FLAGS, {"v2", 2},
    {VERSION, sizeof(VERSION) - 1}, create, destroy,   describe,       handle,
    release,         subscribe,     nullptr,
};

}  // namespace

extern "C" const sb_plugin *switchboard_plugin_v2(void) { return &plugin; }
