package io.homeostat.desired.store;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Ends of processes and runs of one-shots as stored JSON, a part of {@link HistoryCodec}'s. */
final class RunCodec {
    private RunCodec() {}

    static void write(OneShotRun run, ObjectNode node) {
        node.put("work", run.work());
        node.put("launchId", run.launchId());
        node.put("bootId", run.bootId());
        node.put("instanceId", run.instanceId());
        node.put("startedAt", run.startedAt().toString());
        node.put("result", run.result().name());
        node.put("endedAt", HistoryCodec.text(run.endedAt()));
        if (run.exit() != null) {
            write(run.exit(), node.putObject("exit"));
        }
        node.put("error", run.error());
    }

    static OneShotRun oneShot(JsonNode node) {
        JsonNode exit = node.path("exit");
        return new OneShotRun(
                HistoryCodec.text(node, "work"),
                HistoryCodec.text(node, "launchId"),
                HistoryCodec.text(node, "bootId"),
                HistoryCodec.text(node, "instanceId"),
                Instant.parse(HistoryCodec.text(node, "startedAt")),
                OneShotRun.Result.valueOf(HistoryCodec.text(node, "result")),
                HistoryCodec.instant(node.path("endedAt")),
                exit.isObject() ? exit(exit) : null,
                HistoryCodec.text(node, "error"));
    }

    static void write(Exit exit, ObjectNode node) {
        node.put("code", exit.code());
        node.put("signal", exit.signal());
        node.put("reason", exit.reason().name());
        node.put("at", exit.at().toString());
    }

    static Exit exit(JsonNode node) {
        return new Exit(
                number(node.path("code")),
                number(node.path("signal")),
                Exit.Reason.valueOf(HistoryCodec.text(node, "reason")),
                Instant.parse(HistoryCodec.text(node, "at")));
    }

    private static @Nullable Integer number(JsonNode node) {
        return node.isInt() ? node.intValue() : null;
    }
}
