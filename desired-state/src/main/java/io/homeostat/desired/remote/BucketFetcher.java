package io.homeostat.desired.remote;

import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.MetadataServer;
import java.net.URI;
import java.time.InstantSource;
import java.util.Optional;

/** A set in a bucket. */
public final class BucketFetcher implements SetFetcher {
    private final String url;
    private final BucketClient client;

    private BucketFetcher(String url, BucketClient client) {
        this.url = url;
        this.client = client;
    }

    /**
     * One for an object, or for a signed URL of one, with which no credentials are sent.
     *
     * @param large shared by all sources
     */
    public static SetFetcher of(
            AgentConfig.Bucket config, MetadataServer metadata, InstantSource clock, LargeSetLock large) {
        return config.url().startsWith("http")
                ? new HttpsFetcher(URI.create(config.url()), null, null, "sources.bucket", large)
                : new BucketFetcher(config.url(), new BucketClient(config, metadata, clock, large));
    }

    @Override
    public String name() {
        return Redaction.url(url);
    }

    @Override
    public Fetched fetch(Optional<String> known) throws FetchFailure, InterruptedException {
        return switch (client.get(url, known)) {
            case BucketClient.Read.Unchanged _ -> new Fetched.NotModified();
            case BucketClient.Read.Content content -> new Fetched.File(content.version(), content.content());
            case BucketClient.Read.Missing _ ->
                throw new FetchFailure("there is no such object; publish a set there, or correct sources.bucket.url");
        };
    }

    @Override
    public void close() {
        // Each request has a client of its own.
    }
}
