/* SPDX-License-Identifier: Apache-2.0
 *
 * ports.c - ports of this machine; see ports.h. */
#include "subject/ports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/error.h"
#include "base/memory.h"

enum { LOCAL_S = 4 }; /* to wait for room in the queue of a local socket, in seconds */

in_port_t aphi_port_free(in_port_t port, bool datagrams)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, (datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    bool bound = bind(fd, (struct sockaddr *)&at, size) == 0 && getsockname(fd, (struct sockaddr *)&at, &size) == 0;
    close(fd);
    return bound ? ntohs(at.sin_port) : 0;
}

/* Uses netlink: the kernel looks up the socket as it would for a packet. Reading /proc/net would take milliseconds,
 * since it lists all connections. */
uint32_t aphi_port_listener(in_port_t port, bool datagrams)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 question;
    } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .question = {.sdiag_family = AF_INET,
                     .sdiag_protocol = datagrams ? IPPROTO_UDP : IPPROTO_TCP,
                     .idiag_states = ~0u,
                     /* TCP and UDP lookups swap source and destination, so both are set to the same address */
                     .id = {.idiag_sport = htons(port),
                            .idiag_dport = htons(port),
                            .idiag_src = {htonl(INADDR_LOOPBACK)},
                            .idiag_dst = {htonl(INADDR_LOOPBACK)},
                            .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg found;
        char room[1024];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return 0;
    bool found = send(fd, &request, sizeof request, 0) == sizeof request &&
                 recv(fd, &answer, sizeof answer, 0) >= (ssize_t)(sizeof answer.head + sizeof answer.found) &&
                 answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
    close(fd);
    return found ? answer.found.idiag_inode : 0;
}

bool aphi_port_is_held_by(uint32_t socket, pid_t pid)
{
    char path[64], wanted[32], name[32];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    snprintf(wanted, sizeof wanted, "socket:[%u]", socket);
    DIR *files = opendir(path);
    bool held = false;
    for (struct dirent *entry; files && !held && (entry = readdir(files));) {
        ssize_t n = readlinkat(dirfd(files), entry->d_name, name, sizeof name - 1);
        name[n > 0 ? n : 0] = 0;
        held = !strcmp(name, wanted);
    }
    if (files)
        closedir(files);
    return held;
}

bool aphi_port_connects(in_port_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = fd >= 0 && (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 || errno == ECONNRESET);
    if (fd >= 0)
        close(fd);
    return connected;
}

int aphi_port_listen(unsigned *port, char *error, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((in_port_t)*port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, length) || listen(fd, SOMAXCONN) ||
        getsockname(fd, (struct sockaddr *)&at, &length)) {
        aphi_fail(error, size, "127.0.0.1:%u: cannot listen: %s%s", *port, strerror(errno),
                  errno == EADDRINUSE ? "; --listen 0 selects a free port" : "");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(at.sin_port);
    return fd;
}

int aphi_port_accept(int listener)
{
    int fd;
    do
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == ECONNABORTED || errno == EINTR));
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

bool aphi_port_is_exhausted(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool aphi_port_has_no_network(int error)
{
    return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN || error == EAFNOSUPPORT ||
           error == EPROTONOSUPPORT || error == EADDRNOTAVAIL;
}

bool aphi_port_check_loopback(char *error, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool usable = fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0; /* sends nothing */
    int failure = errno;
    if (fd >= 0)
        close(fd);
    return usable || aphi_fail(error, size, "127.0.0.1: no connection is possible: %s; set up the loopback interface "
                               "(ip link set lo up)", strerror(failure));
}

void aphi_port_raise_limit(size_t need)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < need) {
        files.rlim_cur = need < files.rlim_max ? need : files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static const char unix_prefix[] = "unix:";

static const char *unix_path(const char *target)
{
    size_t n = sizeof unix_prefix - 1;
    return strncmp(target, unix_prefix, n) ? NULL : target + n;
}

/* Stores the host, malloc'ed, and the text of the port. */
static bool split_target(const char *target, char **host, const char **port_text, char *error, size_t size)
{
    const char *colon = strrchr(target, ':');
    bool v6 = target[0] == '[';
    const char *end = v6 ? strchr(target, ']') : colon;
    if (!colon || !end || (v6 && end + 1 != colon) || (!v6 && memchr(target, ':', (size_t)(colon - target))) ||
        end == target + v6)
        return aphi_fail(error, size, "%s: not HOST:PORT, [V6]:PORT or unix:PATH", target);
    char *rest;
    unsigned long port = strtoul(colon + 1, &rest, 10);
    if (colon[1] < '0' || colon[1] > '9' || *rest || port == 0 || port > 65535)
        return aphi_fail(error, size, "%s: not HOST:PORT with a port from 1 to 65535", target);
    *host = aphi_copy(target + v6, (size_t)(end - target - v6) + 1);
    (*host)[end - target - v6] = 0;
    *port_text = colon + 1;
    return true;
}

bool aphi_port_is_address(const char *target, bool datagrams, char *error, size_t size)
{
    const char *path = unix_path(target), *port;
    char *host;
    if (path && datagrams)
        return aphi_fail(error, size, "%s: unix:PATH is for connections, not for datagrams", target);
    if (path && (!*path || strlen(path) >= sizeof ((struct sockaddr_un *)0)->sun_path))
        return aphi_fail(error, size, "%s: the path must have 1 to %zu bytes", target,
                         sizeof ((struct sockaddr_un *)0)->sun_path - 1);
    if (path)
        return true;
    if (!split_target(target, &host, &port, error, size))
        return false;
    free(host);
    return true;
}

static bool resolve_host(const char *target, bool datagrams, struct addrinfo **found, char *error, size_t size)
{
    char *host;
    const char *port;
    struct addrinfo wanted = {.ai_family = target[0] == '[' ? AF_INET6 : AF_UNSPEC,
                              .ai_socktype = datagrams ? SOCK_DGRAM : SOCK_STREAM};
    if (!split_target(target, &host, &port, error, size))
        return false;
    int failed = getaddrinfo(host, port, &wanted, found);
    if (failed)
        aphi_fail(error, size, "%s: unknown host %s: %s", target, host, gai_strerror(failed));
    free(host);
    return !failed;
}

bool aphi_port_resolve(const char *target, bool datagrams, struct sockaddr_storage *address, socklen_t *address_size,
                       char *error, size_t size)
{
    struct addrinfo *found = NULL;
    if (!aphi_port_is_address(target, datagrams, error, size))
        return false;
    if (unix_path(target)) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        strcpy(at.sun_path, unix_path(target));
        memcpy(address, &at, sizeof at);
        *address_size = sizeof at;
        return true;
    }
    if (!resolve_host(target, datagrams, &found, error, size))
        return false;
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *address_size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* A full queue of a local socket refuses a connection at once, unless connect may block. */
static int connect_local(int fd, const struct sockaddr *address, socklen_t size)
{
    int flags = fcntl(fd, F_GETFL), status;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = LOCAL_S}, sizeof(struct timeval));
    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    do
        status = connect(fd, address, size);
    while (status < 0 && errno == EINTR);
    int failure = errno == EAGAIN ? ETIMEDOUT : errno;
    fcntl(fd, F_SETFL, flags);
    errno = failure;
    return status;
}

bool aphi_port_connect(int fd, const struct sockaddr *address, socklen_t size, bool *connecting)
{
    int status;
    *connecting = false;
    if (address->sa_family == AF_UNIX)
        return connect_local(fd, address, size) == 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); /* fails for datagrams */
    do
        status = connect(fd, address, size);
    while (status < 0 && errno == EINTR);
    *connecting = status < 0 && errno == EINPROGRESS;
    return status == 0 || *connecting;
}
