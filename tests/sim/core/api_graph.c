/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <stdlib.h>

/*
 * Stream capture, and graphs of what was captured: copies, sets and kernels of
 * one stream, in their order. A launch queues them all, as one entry of the
 * queue. Waits for events, and their records, are not captured.
 */

struct sim_graph {
    struct sim_graph *next;
    bool is_exec;
    struct sim_op *first, **last;
};

static struct sim_graph *graphs;

static struct sim_graph *graph_add(bool is_exec)
{
    struct sim_graph *graph = calloc(1, sizeof(*graph));

    if (graph != NULL) {
        *graph = (struct sim_graph){.next = graphs, .is_exec = is_exec};
        graph->last = &graph->first;
        graphs = graph;
    }
    return graph;
}

static struct sim_graph *graph_find(const void *handle, bool is_exec)
{
    struct sim_graph *graph = graphs;

    while (graph != NULL && (graph != handle || graph->is_exec != is_exec)) {
        graph = graph->next;
    }
    return graph;
}

static void graph_free(struct sim_graph *graph)
{
    for (struct sim_graph **at = &graphs; *at != NULL; at = &(*at)->next) {
        if (*at == graph) {
            *at = graph->next;
            break;
        }
    }
    while (graph->first != NULL) {
        struct sim_op *op = graph->first;

        graph->first = op->next;
        sim_op_free(op);
    }
    free(graph);
}

CUresult sim_graph_capture(struct sim_op *op)
{
    struct sim_graph *graph = op->stream->capture;

    if (op->kind != OP_COPY && op->kind != OP_SET && op->kind != OP_KERNEL) {
        sim_op_free(op);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    *graph->last = op;
    graph->last = &op->next;
    return CUDA_SUCCESS;
}

/* The same operation for another stream (NULL: for no stream yet), or NULL. */
static struct sim_op *copy_of(const struct sim_op *op, struct sim_stream *stream)
{
    struct sim_op *copy = calloc(1, sizeof(*copy));

    if (copy == NULL) {
        return NULL;
    }
    *copy = *op;
    copy->next = NULL;
    copy->stream = stream;
    if (op->args != NULL && (copy->args = op->kernel->clone(op->args)) == NULL) {
        free(copy);
        return NULL;
    }
    return copy;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    ENTER(cuStreamBeginCapture, NEED_CTX)
    struct sim_stream *stream = handle == NULL ? NULL : sim_stream_find(handle);

    (void)mode;
    if (stream == NULL || stream->number == 0) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream->capture != NULL) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    stream->capture = graph_add(false);
    return stream->capture == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    ENTER(cuStreamEndCapture, NEED_CTX)
    struct sim_stream *stream = handle == NULL ? NULL : sim_stream_find(handle);

    if (stream == NULL || stream->capture == NULL) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    *graph = (CUgraph)(void *)stream->capture;
    stream->capture = NULL;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    ENTER(cuStreamIsCapturing, NEED_CTX)
    struct sim_stream *stream = handle == NULL ? NULL : sim_stream_find(handle);

    *status = stream != NULL && stream->capture != NULL ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                        : CU_STREAM_CAPTURE_STATUS_NONE;
    return handle != NULL && stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph handle, unsigned long long flags)
{
    ENTER(cuGraphInstantiate, NEED_CTX)
    const struct sim_graph *graph = graph_find(handle, false);
    struct sim_graph *made = graph == NULL ? NULL : graph_add(true);

    (void)flags;
    for (const struct sim_op *op = made == NULL ? NULL : graph->first; op != NULL; op = op->next) {
        *made->last = copy_of(op, op->stream);
        if (*made->last == NULL) {
            graph_free(made);
            made = NULL;
            break;
        }
        made->last = &(*made->last)->next;
    }
    *exec = (CUgraphExec)(void *)made;
    return graph == NULL  ? CUDA_ERROR_INVALID_VALUE
           : made == NULL ? CUDA_ERROR_OUT_OF_MEMORY
                          : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    ENTER(cuGraphLaunch, NEED_CTX)
    const struct sim_graph *exec = graph_find(handle, true);
    struct sim_stream *stream = sim_stream_find(stream_handle);
    CUresult res = CUDA_SUCCESS;

    if (exec == NULL || stream == NULL) {
        return exec == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    for (const struct sim_op *op = exec->first; op != NULL && res == CUDA_SUCCESS; op = op->next) {
        struct sim_op *copy = copy_of(op, stream);

        if (copy == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        copy->is_inner = op != exec->first;
        res = sim_op_push(copy);
    }
    return res;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph handle)
{
    ENTER(cuGraphDestroy, NEED_CTX)
    struct sim_graph *graph = graph_find(handle, false);

    if (graph == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    graph_free(graph);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec handle)
{
    ENTER(cuGraphExecDestroy, NEED_CTX)
    struct sim_graph *exec = graph_find(handle, true);

    if (exec == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    graph_free(exec);
    return CUDA_SUCCESS;
}
