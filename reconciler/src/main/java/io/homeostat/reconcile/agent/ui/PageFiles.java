package io.homeostat.reconcile.agent.ui;

import com.google.common.collect.ImmutableMap;
import com.google.common.io.Resources;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** The files that the page consists of, which are part of the program. None has data in it, so anybody may read them. */
final class PageFiles {
    private static final String SCRIPT = "text/javascript; charset=utf-8";

    /** By path: nothing else is looked for. */
    private static final ImmutableMap<String, String> TYPES = ImmutableMap.<String, String>builder()
            .put("/index.html", "text/html; charset=utf-8")
            .put("/page.css", "text/css; charset=utf-8")
            .put("/icon.svg", "image/svg+xml")
            .put("/api.js", SCRIPT)
            .put("/detail.js", SCRIPT)
            .put("/dom.js", SCRIPT)
            .put("/events.js", SCRIPT)
            .put("/fleet.js", SCRIPT)
            .put("/graph.js", SCRIPT)
            .put("/keys.js", SCRIPT)
            .put("/logs.js", SCRIPT)
            .put("/operations.js", SCRIPT)
            .put("/page.js", SCRIPT)
            .put("/plan.js", SCRIPT)
            .put("/sparkline.js", SCRIPT)
            .put("/workloads.js", SCRIPT)
            .buildOrThrow();

    private final Map<String, byte[]> read = new ConcurrentHashMap<>();

    /** Empty when there is no such file. */
    Optional<Answer> at(String path) {
        String file = path.equals("/") ? "/index.html" : path;
        String type = TYPES.get(file);
        return type == null
                ? Optional.empty()
                : Optional.of(Answer.file(type, read.computeIfAbsent(file, PageFiles::read)));
    }

    private static byte[] read(String file) {
        try {
            return Resources.toByteArray(Resources.getResource(PageFiles.class, file.substring(1)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
