package io.homeostat.desired.etcd;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.auth.Permission;
import io.homeostat.desired.model.AgentConfig.Etcd;
import java.util.List;

/** Who may do what in a cluster of etcd: its users and roles. Methods do only what is not done yet, and say whether they did anything. */
public final class EtcdUsers implements AutoCloseable {
    private final EtcdKeyValues etcd;

    /** What a role may do. */
    public enum Access {
        READ(Permission.Type.READ),
        WRITE(Permission.Type.WRITE),
        READ_AND_WRITE(Permission.Type.READWRITE);

        private final Permission.Type type;

        Access(Permission.Type type) {
            this.type = type;
        }
    }

    /**
     * What a role may do to keys.
     *
     * @param isPrefix whether it is about all keys that begin so; else about this one
     */
    public record Grant(String key, boolean isPrefix, Access access) {
        private Range range() {
            return new Range(
                    EtcdKeyValues.bytes(key), isPrefix ? EtcdKeyValues.endOf(key) : ByteSequence.EMPTY, access.type);
        }
    }

    /** The same in etcd's words; of one key the end is empty. */
    private record Range(ByteSequence from, ByteSequence end, Permission.Type type) {}

    /** @param config whose login is one that may change users, once etcd asks for passwords */
    public EtcdUsers(Etcd config) {
        etcd = new EtcdKeyValues(config);
    }

    /** Has a role with just these permissions. */
    public boolean define(String role, ImmutableList<Grant> grants) throws KeyValuesException, InterruptedException {
        ByteSequence name = EtcdKeyValues.bytes(role);
        String what = "could not define the role " + role;
        boolean isNew = !isAmong(
                etcd.ask(what, client -> client.getAuthClient().roleList()).getRoles(), role);
        if (isNew) {
            etcd.ask(what, client -> client.getAuthClient().roleAdd(name));
        }
        ImmutableSet<Range> wanted = grants.stream().map(Grant::range).collect(ImmutableSet.toImmutableSet());
        ImmutableSet<Range> found =
                etcd.ask(what, client -> client.getAuthClient().roleGet(name)).getPermissions().stream()
                        .map(one -> new Range(one.getKey(), one.getRangeEnd(), one.getPermType()))
                        .collect(ImmutableSet.toImmutableSet());
        for (Range range : Sets.difference(found, wanted)) {
            etcd.ask(what, client -> client.getAuthClient().roleRevokePermission(name, range.from(), range.end()));
        }
        for (Range range : Sets.difference(wanted, found)) {
            etcd.ask(
                    what,
                    client ->
                            client.getAuthClient().roleGrantPermission(name, range.from(), range.end(), range.type()));
        }
        return isNew || !found.equals(wanted);
    }

    /** Whether there is such a user. */
    public boolean hasUser(String user) throws KeyValuesException, InterruptedException {
        return isAmong(
                etcd.ask(
                                "could not list users",
                                client -> client.getAuthClient().userList())
                        .getUsers(),
                user);
    }

    /** Makes a user that is not there. */
    public void add(String user, String password) throws KeyValuesException, InterruptedException {
        etcd.learn(password);
        etcd.ask(
                "could not make the user " + user,
                client -> client.getAuthClient().userAdd(EtcdKeyValues.bytes(user), EtcdKeyValues.bytes(password)));
    }

    /** Gives a user another password. */
    public void change(String user, String password) throws KeyValuesException, InterruptedException {
        etcd.learn(password);
        etcd.ask(
                "could not change the password of " + user,
                client -> client.getAuthClient()
                        .userChangePassword(EtcdKeyValues.bytes(user), EtcdKeyValues.bytes(password)));
    }

    /** Has a user be of a role. */
    public boolean grant(String user, String role) throws KeyValuesException, InterruptedException {
        String what = "could not make " + user + " be of the role " + role;
        ByteSequence name = EtcdKeyValues.bytes(user);
        if (isAmong(
                etcd.ask(what, client -> client.getAuthClient().userGet(name)).getRoles(), role)) {
            return false;
        }
        etcd.ask(what, client -> client.getAuthClient().userGrantRole(name, EtcdKeyValues.bytes(role)));
        return true;
    }

    private static boolean isAmong(List<String> names, String name) {
        return names.contains(name);
    }

    @Override
    public void close() {
        etcd.close();
    }
}
