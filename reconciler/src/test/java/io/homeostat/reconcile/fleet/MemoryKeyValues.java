package io.homeostat.reconcile.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValuesException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * What etcd does, in memory and in the time of a simulation. Changes are told only when {@link Client#tell} is called, so that whoever hears of
 * them may be late by as much as a test wants.
 */
final class MemoryKeyValues {
    private final TreeMap<String, Entry> entries = new TreeMap<>();
    private final Map<String, Long> leaseOf = new HashMap<>();
    private final Map<Long, Lease> leases = new HashMap<>();
    private final List<Change> changes = new ArrayList<>();
    private final List<Client.Watch> watches = new ArrayList<>();
    private final LongSupplier millis;
    private long revision = 1;
    private long compacted;
    private long lastLease;
    private BiConsumer<Optional<Entry>, Entry> witness = (before, after) -> {};
    private Predicate<String> refused = key -> false;

    MemoryKeyValues(LongSupplier millis) {
        this.millis = millis;
    }

    private record Lease(Duration timeToLive, long until) {}

    private record Change(long revision, String key, Optional<Entry> put) {}

    /** Is told of every value that is written, and what was there before. */
    void witnessedBy(BiConsumer<Optional<Entry>, Entry> one) {
        witness = one;
    }

    /** Has clients be refused, as by an etcd that finds a request too large, what they write to such keys. */
    void refuse(Predicate<String> keys) {
        refused = keys;
    }

    KeyValues.Listing list(String prefix) {
        ImmutableSortedMap<String, Entry> found =
                ImmutableSortedMap.copyOf(entries.subMap(prefix, prefix + Character.MAX_VALUE));
        return new KeyValues.Listing(revision, found);
    }

    Optional<Entry> find(String key) {
        return Optional.ofNullable(entries.get(key));
    }

    OptionalLong commit(List<KeyValues.Condition> conditions, List<KeyValues.Write> writes) {
        expire();
        if (!conditions.stream().allMatch(this::holds)) {
            return OptionalLong.empty();
        }
        if (!writes.isEmpty()) {
            revision++;
            writes.forEach(this::write);
        }
        return OptionalLong.of(revision);
    }

    private boolean holds(KeyValues.Condition condition) {
        Optional<Entry> entry = find(condition.key());
        return switch (condition) {
            case KeyValues.Condition.CreatedIn created ->
                entry.map(Entry::created).orElse(0L) == created.revision();
            case KeyValues.Condition.ModifiedIn modified ->
                entry.map(Entry::modified).orElse(0L) == modified.revision();
        };
    }

    private void write(KeyValues.Write write) {
        switch (write) {
            case KeyValues.Write.Put put -> {
                Optional<Entry> before = find(put.key());
                long created = before.map(Entry::created).orElse(revision);
                Entry entry = new Entry(put.key(), put.value(), created, revision);
                entries.put(put.key(), entry);
                leaseOf.put(put.key(), put.lease());
                changes.add(new Change(revision, put.key(), Optional.of(entry)));
                witness.accept(before, entry);
            }
            case KeyValues.Write.Delete delete -> remove(delete.key());
        }
    }

    private void remove(String key) {
        leaseOf.remove(key);
        if (entries.remove(key) != null) {
            changes.add(new Change(revision, key, Optional.empty()));
        }
    }

    /** Writes what nobody contests. */
    long put(String key, String value, long lease) {
        return commit(List.of(), List.of(new KeyValues.Write.Put(key, ByteString.copyFromUtf8(value), lease)))
                .orElseThrow();
    }

    void delete(String key) {
        commit(List.of(), List.of(new KeyValues.Write.Delete(key)));
    }

    long grant(Duration timeToLive) {
        leases.put(++lastLease, new Lease(timeToLive, millis.getAsLong() + timeToLive.toMillis()));
        return lastLease;
    }

    boolean renew(long lease) {
        expire();
        return leases.computeIfPresent(
                        lease,
                        (id, one) -> new Lease(
                                one.timeToLive(),
                                millis.getAsLong() + one.timeToLive().toMillis()))
                != null;
    }

    void revoke(long lease) {
        leases.remove(lease);
        List<String> keys = leaseOf.entrySet().stream()
                .filter(entry -> entry.getValue() == lease)
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
        if (!keys.isEmpty()) {
            revision++;
            keys.forEach(this::remove);
        }
    }

    /** Removes what was written with leases that are over. */
    void expire() {
        List<Long> over = leases.entrySet().stream()
                .filter(lease -> lease.getValue().until() <= millis.getAsLong())
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
        over.forEach(this::revoke);
    }

    /** Puts up a candidate, if it is not there, and tells whether it leads: the one that came first does. */
    Optional<KeyValues.Leadership> campaign(String name, long lease, String candidate) {
        expire();
        String key = name + "/" + lease;
        if (!entries.containsKey(key)) {
            put(key, candidate, lease);
        }
        Entry own = find(key).orElseThrow();
        boolean isFirst =
                list(name + "/").entries().values().stream().noneMatch(other -> other.created() < own.created());
        return isFirst ? Optional.of(new KeyValues.Leadership(key, own.created())) : Optional.empty();
    }

    /** Forgets what has changed so far. */
    void compact() {
        compacted = revision;
        changes.clear();
    }

    /** A connection. */
    final class Client implements KeyValues {
        private final BooleanSupplier isCutOff;
        private final BooleanSupplier losesAnswers;

        /**
         * @param isCutOff whether nothing comes through
         * @param losesAnswers whether a write happens, and its answer is lost
         */
        Client(BooleanSupplier isCutOff, BooleanSupplier losesAnswers) {
            this.isCutOff = isCutOff;
            this.losesAnswers = losesAnswers;
        }

        @Override
        public Listing list(String prefix, long most) throws KeyValuesException {
            reach();
            expire();
            return MemoryKeyValues.this.list(prefix);
        }

        @Override
        public Optional<Entry> get(String key, long asOf) throws KeyValuesException {
            if (asOf != NEWEST) {
                throw new UnsupportedOperationException("nobody here asks for what was");
            }
            reach();
            expire();
            return find(key);
        }

        @Override
        public Watching watch(String prefix, long after, Listener listener) {
            Watch watch = new Watch(prefix, after, listener);
            watches.add(watch);
            return watch;
        }

        @Override
        public OptionalLong commit(ImmutableList<Condition> conditions, ImmutableList<Write> writes)
                throws KeyValuesException {
            reach();
            if (writes.stream().map(Write::key).anyMatch(refused)) {
                throw new KeyValuesException(KeyValuesException.Kind.FAILED, "request is too large", null);
            }
            OptionalLong done = MemoryKeyValues.this.commit(conditions, writes);
            if (losesAnswers.getAsBoolean()) {
                throw unreachable();
            }
            return done;
        }

        @Override
        public long grant(Duration timeToLive) throws KeyValuesException {
            reach();
            return MemoryKeyValues.this.grant(timeToLive);
        }

        @Override
        public boolean renew(long lease) throws KeyValuesException {
            reach();
            return MemoryKeyValues.this.renew(lease);
        }

        @Override
        public void revoke(long lease) throws KeyValuesException {
            reach();
            MemoryKeyValues.this.revoke(lease);
        }

        /** Does not wait: a simulation asks again. */
        @Override
        public Leadership campaign(String name, long lease, String candidate) throws KeyValuesException {
            reach();
            return MemoryKeyValues.this
                    .campaign(name, lease, candidate)
                    .orElseThrow(() ->
                            new KeyValuesException(KeyValuesException.Kind.UNAVAILABLE, "somebody else leads", null));
        }

        @Override
        public void close() {
            watches.removeIf(watch -> watch.client() == this);
        }

        /** Tells whoever watches over this connection what has changed. */
        void tell() {
            expire();
            List.copyOf(watches).stream()
                    .filter(watch -> watch.client() == this)
                    .forEach(Watch::tell);
        }

        private void reach() throws KeyValuesException {
            if (isCutOff.getAsBoolean()) {
                throw unreachable();
            }
        }

        private static KeyValuesException unreachable() {
            return new KeyValuesException(KeyValuesException.Kind.UNAVAILABLE, "nobody answers", null);
        }

        private final class Watch implements Watching {
            private final String prefix;
            private final Listener listener;
            private long told;

            Watch(String prefix, long after, Listener listener) {
                this.prefix = prefix;
                this.listener = listener;
                told = after;
            }

            Client client() {
                return Client.this;
            }

            void tell() {
                if (isCutOff.getAsBoolean() || told == revision) {
                    return;
                }
                if (told < compacted) {
                    close();
                    listener.ended(new KeyValuesException(KeyValuesException.Kind.COMPACTED, "it was compacted", null));
                    return;
                }
                Map<String, Optional<Entry>> last = new TreeMap<>();
                // The newest come last.
                for (int i = changes.size() - 1; i >= 0 && changes.get(i).revision() > told; i--) {
                    Change change = changes.get(i);
                    if (change.key().startsWith(prefix)) {
                        last.putIfAbsent(change.key(), change.put());
                    }
                }
                told = revision;
                listener.changed(
                        last.values().stream().flatMap(Optional::stream).collect(ImmutableList.toImmutableList()),
                        last.entrySet().stream()
                                .filter(change -> change.getValue().isEmpty())
                                .map(Map.Entry::getKey)
                                .collect(ImmutableList.toImmutableList()),
                        revision);
            }

            @Override
            public void close() {
                watches.remove(this);
            }
        }
    }
}
