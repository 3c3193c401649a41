package io.homeostat.desired.remote;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Condition;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.util.Optional;

/** A set under a key of etcd, compressed: machines get it at once. */
public final class EtcdTarget implements SetTarget {
    /** What a member of etcd takes at most in one request, unless it is told otherwise, is half as much again. */
    private static final int MAX_BYTES = 1 << 20;

    private final KeyValues etcd;
    private final String key;
    private long modified;

    /** @param etcd is closed with this */
    public EtcdTarget(KeyValues etcd, FleetKeys keys) {
        this.etcd = etcd;
        this.key = keys.set();
    }

    @Override
    public String name() {
        return "etcd:" + key;
    }

    @Override
    public Optional<Fetched> read() throws FetchFailure, InterruptedException {
        try {
            Optional<Entry> found = etcd.get(key);
            modified = found.map(Entry::modified).orElse(0L);
            return found.map(entry -> new Fetched.File(Long.toString(entry.modified()), entry.value()));
        } catch (KeyValuesException e) {
            throw failure(e);
        }
    }

    @Override
    public boolean write(SetFile set) throws FetchFailure, InterruptedException {
        byte[] compressed = set.compressed();
        if (compressed.length > MAX_BYTES) {
            throw new FetchFailure("the set has " + compressed.length
                    + " bytes compressed, and etcd takes 1 MiB; publish it to git, a bucket or a web server");
        }
        try {
            return etcd.commit(
                            ImmutableList.of(new Condition.ModifiedIn(key, modified)),
                            ImmutableList.of(new Write.Put(key, ByteString.copyFrom(compressed), KeyValues.NO_LEASE)))
                    .isPresent();
        } catch (KeyValuesException e) {
            throw failure(e);
        }
    }

    private static FetchFailure failure(KeyValuesException e) {
        return new FetchFailure(String.valueOf(e.getMessage()), e);
    }

    @Override
    public void close() {
        etcd.close();
    }
}
