package io.homeostat.desired.state.sqlite;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.DocumentCodec;

/**
 * Turns stored documents into workloads and back, each only once: the document of a converged workload is stored both as declared and as
 * last known good, and the loop reads both again and again.
 */
final class StoredDocuments {
    private static final int REMEMBERED = 2_000;

    private final Cache<String, Workload> workloads =
            CacheBuilder.newBuilder().maximumSize(REMEMBERED).build();
    /** By identity: to compare workloads takes as long as to print them. */
    private final Cache<Workload, String> texts =
            CacheBuilder.newBuilder().weakKeys().maximumSize(REMEMBERED).build();

    /** @throws IllegalArgumentException when it is no valid document */
    Workload read(String document) {
        Workload known = workloads.getIfPresent(document);
        if (known == null) {
            known = DocumentCodec.fromJson(document);
            remember(known, document);
        }
        return known;
    }

    String write(Workload workload) {
        String known = texts.getIfPresent(workload);
        return known == null ? DocumentCodec.toJson(workload) : known;
    }

    void remember(Workload workload, String document) {
        workloads.put(document, workload);
        texts.put(workload, document);
    }
}
