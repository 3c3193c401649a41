package io.homeostat.desired.remote;

import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.util.Optional;

/** A set as an object of a bucket. */
public final class BucketTarget implements SetTarget {
    private final String object;
    private final BucketClient client;
    private Optional<String> version = Optional.empty();

    /** @param object its URL: gs://BUCKET/OBJECT or s3://BUCKET/OBJECT */
    public BucketTarget(String object, BucketClient client) {
        this.object = object;
        this.client = client;
    }

    @Override
    public String name() {
        return Redaction.url(object);
    }

    @Override
    public Optional<Fetched> read() throws FetchFailure, InterruptedException {
        version = Optional.empty();
        if (!object.startsWith("gs://") && !object.startsWith("s3://")) {
            throw new FetchFailure("a signed URL is for reading; write gs://BUCKET/OBJECT or s3://BUCKET/OBJECT");
        }
        if (!(client.get(object, Optional.empty()) instanceof BucketClient.Read.Content found)) {
            return Optional.empty();
        }
        version = Optional.of(found.version());
        return Optional.of(new Fetched.File(found.version(), found.content()));
    }

    @Override
    public boolean write(SetFile set) throws FetchFailure, InterruptedException {
        return client.put(object, ByteString.copyFrom(set.bytes()), version).isPresent();
    }

    @Override
    public void close() {
        // Each request has a client of its own.
    }
}
