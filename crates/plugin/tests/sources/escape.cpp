// A plugin of the first version of the interface that tries to leave its sandbox, one way for each call. It says `done`
// where a way is open, else the name of the error.
#include "switchboard_plugin_v1.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/fs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace {

PluginAPI *self;

const PluginTool tools[] = {
    {"escape", "Tries one way.",
     R"({"type":"object","properties":{"how":{"type":"string"},"target":{"type":"string"}}})"}};

using Way = std::function<long(const std::string &target)>;

// The plugin's own file: readable in the sandbox, and not the system's.
std::string own_file() {
    Dl_info found;
    dladdr(reinterpret_cast<void *>(&own_file), &found);
    return found.dli_fname;
}

int own_descriptor() { return open(own_file().c_str(), O_RDONLY | O_CLOEXEC); }

sockaddr_un address(const std::string &name, socklen_t &length) {
    sockaddr_un to = {};
    to.sun_family = AF_UNIX;
    const bool is_abstract = name[0] == '@';
    memcpy(to.sun_path + is_abstract, name.data() + is_abstract, name.size() - is_abstract);
    length = offsetof(sockaddr_un, sun_path) + name.size();
    return to;
}

long unix_connect(const std::string &target) {
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    socklen_t length;
    const sockaddr_un to = address(target, length);
    return connect(descriptor, reinterpret_cast<const sockaddr *>(&to), length);
}

// A pair of datagram ends can send anywhere.
long unix_pair_sends(const std::string &target) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0) return -1;
    socklen_t length;
    const sockaddr_un to = address(target, length);
    return sendto(pair[0], "x", 1, 0, reinterpret_cast<const sockaddr *>(&to), length) == 1 ? 0 : -1;
}

long in_a_child(const std::function<long()> &start) {
    const long child = start();
    if (child == 0) _exit(0);
    return child < 0 ? -1 : waitpid(child, nullptr, 0) < 0;
}

long owned(const std::string &target, int command) {
    int pair[2];
    return pipe(pair) < 0 ? -1 : fcntl(pair[0], command, atoi(target.c_str()));
}

pid_t pid(const std::string &target) { return atoi(target.c_str()); }

const std::map<std::string, Way> ways = {
    // Sockets of this machine.
    {"unix", unix_connect},
    {"unix datagram pair", unix_pair_sends},
    {"vsock", [](auto &) { return socket(AF_VSOCK, SOCK_STREAM, 0); }},
    {"netlink user", [](auto &) { return socket(AF_NETLINK, SOCK_RAW, 2); }},
    // Signals to others, and other processes in general.
    {"kill", [](auto &target) { return kill(pid(target), SIGCONT); }},
    {"kill group", [](auto &target) { return kill(-pid(target), SIGCONT); }},
    {"tgkill", [](auto &target) { return syscall(SYS_tgkill, pid(target), pid(target), SIGCONT); }},
    {"tkill", [](auto &target) { return syscall(SYS_tkill, pid(target), SIGCONT); }},
    {"sigqueue", [](auto &target) { return sigqueue(pid(target), SIGCONT, {}); }},
    {"pidfd", [](auto &target) { return syscall(SYS_pidfd_open, pid(target), 0); }},
    {"pidfd signal",
     [](auto &target) {
         // A folder of /proc is as good as a descriptor from pidfd_open.
         const int process = open(("/proc/" + target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
         return process < 0 ? -1 : syscall(SYS_pidfd_send_signal, process, SIGCONT, nullptr, 0);
     }},
    {"set owner", [](auto &target) { return owned(target, F_SETOWN); }},
    {"set owner ioctl",
     [](auto &target) {
         const int descriptor = socket(AF_INET, SOCK_STREAM, 0), owner = pid(target);
         return ioctl(descriptor, FIOSETOWN, &owner);
     }},
    {"set signal",
     [](auto &) {
         int pair[2];
         return pipe(pair) < 0 ? -1 : fcntl(pair[0], F_SETSIG, SIGKILL);
     }},
    {"ptrace", [](auto &target) { return ptrace(PTRACE_SEIZE, pid(target), nullptr, nullptr); }},
    {"process memory",
     [](auto &target) {
         char here;
         iovec local = {&here, 1}, remote = {&here, 1};
         // Fails in the other process, if it is asked at all.
         return process_vm_readv(pid(target), &local, 1, &remote, 1, 0) < 0 && errno == EPERM ? -1 : 0;
     }},
    {"limits of another",
     [](auto &target) {
         rlimit limit;
         return prlimit(pid(target), RLIMIT_NOFILE, nullptr, &limit);
     }},
    {"priority of another", [](auto &target) { return setpriority(PRIO_PROCESS, pid(target), 19); }},
    {"affinity of another",
     [](auto &target) {
         cpu_set_t all;
         return sched_getaffinity(0, sizeof all, &all) < 0 ? -1 : sched_setaffinity(pid(target), sizeof all, &all);
     }},
    // Terminals.
    {"terminal", [](auto &) { return open("/dev/tty", O_RDWR | O_NOCTTY); }},
    {"other terminal", [](auto &) { return open("/dev/ptmx", O_RDWR | O_NOCTTY); }},
    {"type", [](auto &) { return ioctl(2, TIOCSTI, "x"); }},
    // Only the low half of the command counts for the kernel.
    {"type with high bits", [](auto &) { return syscall(SYS_ioctl, 2, TIOCSTI | 0x100000000UL, "x"); }},
    {"own session", [](auto &) { return getsid(0) == getpid() ? 0 : (errno = EINVAL, -1); }},
    // Files: modes, owners, times, attributes, contents.
    {"chmod", [](auto &) { return chmod(own_file().c_str(), 0700); }},
    {"fchmod", [](auto &) { return fchmod(own_descriptor(), 0700); }},
    {"fchmodat", [](auto &) { return fchmodat(AT_FDCWD, own_file().c_str(), 0700, 0); }},
    {"fchmodat2", [](auto &) { return syscall(452, AT_FDCWD, own_file().c_str(), 0700, 0); }},
    {"chown", [](auto &) { return chown(own_file().c_str(), -1, -1); }},
    {"lchown", [](auto &) { return lchown(own_file().c_str(), -1, -1); }},
    {"fchown", [](auto &) { return fchown(own_descriptor(), -1, -1); }},
    {"fchownat", [](auto &) { return fchownat(AT_FDCWD, own_file().c_str(), -1, -1, 0); }},
    {"setxattr", [](auto &) { return setxattr(own_file().c_str(), "user.x", "x", 1, 0); }},
    {"fsetxattr", [](auto &) { return fsetxattr(own_descriptor(), "user.x", "x", 1, 0); }},
    {"removexattr", [](auto &) { return removexattr(own_file().c_str(), "user.none"); }},
    {"utimensat", [](auto &) { return utimensat(AT_FDCWD, own_file().c_str(), nullptr, 0); }},
    {"utimes", [](auto &) { return utimes(own_file().c_str(), nullptr); }},
    {"attributes",
     [](auto &) {
         int flags = 0;
         const int file = own_descriptor();
         return ioctl(file, FS_IOC_GETFLAGS, &flags) < 0 ? -1 : ioctl(file, FS_IOC_SETFLAGS, &flags);
     }},
    {"truncate", [](auto &target) { return truncate(target.c_str(), 0); }},
    {"truncate by reading", [](auto &target) { return open(target.c_str(), O_RDONLY | O_TRUNC); }},
    {"write", [](auto &target) { return open(target.c_str(), O_WRONLY); }},
    {"read", [](auto &target) { return open(target.c_str(), O_RDONLY); }},
    {"make", [](auto &target) { return mkdir((target + ".folder").c_str(), 0700); }},
    {"link", [](auto &target) { return symlink("/", (target + ".link").c_str()); }},
    {"rename", [](auto &target) { return rename(target.c_str(), target.c_str()); }},
    {"remove", [](auto &target) { return unlink(target.c_str()); }},
    {"watch", [](auto &) { return inotify_init1(0); }},
    // Programs and processes.
    {"execute",
     [](auto &) {
         char *const words[] = {const_cast<char *>("true"), nullptr};
         pid_t child;
         const int error = posix_spawn(&child, "/bin/true", nullptr, nullptr, words, nullptr);
         return error ? -error : waitpid(child, nullptr, 0);
     }},
    {"fork", [](auto &) { return in_a_child([] { return long{fork()}; }); }},
    {"clone3",
     [](auto &) {
         return in_a_child([] {
             unsigned long arguments[8] = {0, 0, 0, 0, SIGCHLD};
             return syscall(SYS_clone3, arguments, sizeof arguments);
         });
     }},
    {"execute memory",
     [](auto &) {
         const int memory = memfd_create("x", 0);
         char *const words[] = {nullptr};
         return syscall(SYS_execveat, memory, "", words, words, AT_EMPTY_PATH);
     }},
    // Ways around the filter.
    {"io_uring",
     [](auto &) {
         char parameters[256] = {};
         return syscall(SYS_io_uring_setup, 1, parameters);
     }},
    {"openat2",
     [](auto &target) {
         unsigned long how[3] = {O_RDONLY, 0, 0};
         return syscall(SYS_openat2, AT_FDCWD, target.c_str(), how, sizeof how);
     }},
    {"namespace", [](auto &) { return unshare(CLONE_NEWUSER); }},
    {"shared memory", [](auto &) { return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600); }},
    {"keys", [](auto &) { return syscall(SYS_keyctl, 0, -3, 0); }},
    {"handle",
     [](auto &) {
         char handle[256] = {};
         int mount;
         *reinterpret_cast<unsigned *>(handle) = 128;
         return syscall(SYS_name_to_handle_at, AT_FDCWD, "/", handle, &mount, 0);
     }},
#ifdef __x86_64__
    {"x32", [](auto &) { return syscall(0x40000000 | SYS_getpid); }},
    {"32 bits",
     [](auto &) {
         long number = 20;
         asm volatile("int $0x80" : "+a"(number) : : "memory");
         return number;
     }},
#endif
    // What has to work.
    {"can signal itself",
     [](auto &) { return raise(SIGCONT) || kill(getpid(), SIGCONT) || sigqueue(getpid(), SIGCONT, {}) ? -1 : 0; }},
    {"can start threads",
     [](auto &) {
         int done = 0;
         std::thread([&] { done = 1; }).join();
         return done - 1;
     }},
    {"can wait",
     [](auto &) {
         const int events = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0), event = eventfd(1, 0);
         itimerspec soon = {{}, {0, 1}};
         epoll_event wanted = {};
         wanted.events = EPOLLIN;
         if (timerfd_settime(timer, 0, &soon, nullptr) || epoll_ctl(events, EPOLL_CTL_ADD, timer, &wanted)) return -1;
         pollfd polled = {event, POLLIN, 0};
         return epoll_wait(events, &wanted, 1, -1) == 1 && poll(&polled, 1, -1) == 1 ? 0 : -1;
     }},
    {"can use a pair",
     [](auto &) {
         int pair[2];
         char byte;
         if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) return -1;
         return write(pair[0], "x", 1) == 1 && read(pair[1], &byte, 1) == 1 ? 0 : -1;
     }},
    {"can connect",
     [](auto &target) {
         const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
         sockaddr_in to = {};
         to.sin_family = AF_INET;
         to.sin_port = htons(atoi(target.c_str()));
         to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
         int yes = 1;
         if (ioctl(descriptor, FIONBIO, &yes) || fcntl(descriptor, F_SETFL, 0)) return -1;
         return connect(descriptor, reinterpret_cast<sockaddr *>(&to), sizeof to);
     }},
    {"can look up names",
     [](auto &) {
         addrinfo *found = nullptr;
         ifaddrs *interfaces = nullptr;
         return getaddrinfo("localhost", "80", nullptr, &found) ? (errno = EINVAL, -1) : getifaddrs(&interfaces);
     }},
    {"can read", [](auto &) { return open("/etc/passwd", O_RDONLY) < 0 ? -1 : open("/dev/urandom", O_RDONLY); }},
    {"can write to nothing", [](auto &) { return fopen("/dev/null", "w") ? 0 : -1; }},
    {"can map memory",
     [](auto &) {
         const int memory = memfd_create("x", MFD_CLOEXEC);
         if (ftruncate(memory, 4096)) return -1;
         return mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) == MAP_FAILED ? -1 : 0;
     }},
    {"can ask about itself",
     [](auto &) {
         rlimit limit;
         cpu_set_t all;
         return getrlimit(RLIMIT_NOFILE, &limit) || sched_getaffinity(0, sizeof all, &all) ||
                sched_setaffinity(0, sizeof all, &all) || prctl(PR_SET_NAME, "plugin")
                    ? -1
                    : 0;
     }},
    {"can tell what is no terminal", [](auto &) { return !isatty(2) && errno == ENOTTY ? 0 : -1; }},
};

std::string member(const std::string &request, const std::string &key) {
    const std::string mark = "\"" + key + "\":\"";
    size_t at = request.find(mark);
    if (at == std::string::npos) return "";
    at += mark.size();
    return request.substr(at, request.find('"', at) - at);
}

char *handle(const char *text) {
    const std::string request = text;
    const auto way = ways.find(member(request, "how"));
    std::string said = "no such way";
    if (way != ways.end()) {
        errno = 0;
        const long result = way->second(member(request, "target"));
        // A call that is made past the C library returns its error.
        said = result >= 0 ? "done" : strerrorname_np(result == -1 ? errno : -result);
    }
    said = R"({"content":[{"type":"text","text":")" + said + R"("}],"isError":false})";
    char *copy = new char[said.size() + 1];
    memcpy(copy, said.c_str(), said.size() + 1);
    return copy;
}

const char *name() { return "escape"; }
const char *version() { return "1"; }
PluginType type() { return PLUGIN_TYPE_TOOLS; }
int initialize() { return 1; }
void shutdown() {}
int count() { return 1; }
const PluginTool *get(int index) { return &tools[index]; }

}  // namespace

extern "C" {
PluginAPI *CreatePlugin(void) {
    self = new PluginAPI{name, version, type, initialize, handle, shutdown, count, get,
                         nullptr, nullptr, nullptr, nullptr, nullptr};
    return self;
}
void DestroyPlugin(PluginAPI *plugin) { delete plugin; }
}
