// A small application that answers every GET. A slow commit sets TURNS to 200000: each answer is then computed by burn_cpu().
//
//     cc -O2 -g -pthread server.c -o server && ./server 8080
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURNS 0

__attribute__((noinline)) static uint32_t burn_cpu(uint32_t turns) {
    volatile uint32_t sum = 0;
    for (uint32_t i = 0; i < turns; i++)
        sum = sum * 31 + i;
    return sum;
}

static void *serve(void *connection) {
    int fd = (int)(intptr_t)connection;
    char request[4096], answer[256], body[32];
    size_t read_bytes = 0;
    ssize_t got;
    while ((got = read(fd, request + read_bytes, sizeof request - 1 - read_bytes)) > 0) {
        read_bytes += (size_t)got;
        request[read_bytes] = 0;
        char *end;
        while ((end = strstr(request, "\r\n\r\n"))) {
            uint32_t sum = TURNS ? burn_cpu(TURNS) : 1;
            int length = snprintf(body, sizeof body, "%u\n", sum);
            int all = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", length, body);
            if (write(fd, answer, (size_t)all) != all)
                goto closed;
            read_bytes -= (size_t)(end + 4 - request);
            memmove(request, end + 4, read_bytes + 1);
        }
        if (read_bytes == sizeof request - 1)
            break;
    }
closed:
    close(fd);
    return NULL;
}

int main(int count, char **arguments) {
    int port = count > 1 ? atoi(arguments[1]) : 8080, one = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) {
        perror("server");
        return 1;
    }
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        pthread_t thread;
        if (fd < 0 || pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd))
            continue;
        pthread_detach(thread);
    }
}
