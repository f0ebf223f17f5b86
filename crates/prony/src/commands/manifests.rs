//! `prony fleet manifests`: what starts the agents of a pool.

use prony_fleet::allow::Allow;
use prony_fleet::pool::Pool;

use crate::cli::{ManifestFormat, ManifestsArguments};
use crate::failure::Failure;
use crate::printer::Printer;

const KEY: &str = "/etc/prony/agent.key";

pub(crate) fn run(arguments: &ManifestsArguments, printer: &Printer) -> Result<(), Failure> {
    arguments.pool.parse::<Pool>().map_err(Failure::usage)?;
    for target in &arguments.allow {
        target.parse::<Allow>().map_err(Failure::usage)?;
    }
    printer.out(&match arguments.format {
        ManifestFormat::Kubernetes => kubernetes(arguments),
        ManifestFormat::Systemd => systemd(arguments),
    });
    Ok(())
}

fn agent_arguments(arguments: &ManifestsArguments) -> Vec<String> {
    let fixed = ["agent", "--pool", &arguments.pool, "--key", KEY].map(str::to_owned);
    let allowed = arguments.allow.iter().flat_map(|target| ["--allow".to_owned(), target.clone()]);
    fixed.into_iter().chain(allowed).collect()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An Indexed Job: one pod a node, each of whole CPUs, asked for as they are limited, so that a node with the static CPU
/// manager gives them to it alone; a quota alone would stop its threads in the middle of a load.
fn kubernetes(arguments: &ManifestsArguments) -> String {
    let ManifestsArguments { agents, cpus, .. } = arguments;
    let args: String =
        agent_arguments(arguments).iter().map(|text| format!("            - {}\n", quoted(text))).collect();
    let image = quoted(&arguments.image);
    format!(
        r#"# Before it: kubectl create secret generic prony-agent-key --from-file=agent.key
# To end it: kubectl delete job prony-agents
apiVersion: batch/v1
kind: Job
metadata:
  name: prony-agents
  labels:
    app.kubernetes.io/name: prony-agent
spec:
  completionMode: Indexed
  completions: {agents}
  parallelism: {agents}
  backoffLimit: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: prony-agent
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app.kubernetes.io/name: prony-agent
      containers:
        - name: agent
          image: {image}
          command:
            - prony
          args:
{args}          resources:
            requests:
              cpu: "{cpus}"
              memory: 512Mi
            limits:
              cpu: "{cpus}"
              memory: 512Mi
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop:
                - ALL
          volumeMounts:
            - name: key
              mountPath: /etc/prony
              readOnly: true
      volumes:
        - name: key
          secret:
            secretName: prony-agent-key
            defaultMode: 0440
"#
    )
}

/// A unit for one machine, of a user of its own; `%` is systemd's, and doubled.
fn systemd(arguments: &ManifestsArguments) -> String {
    let line: Vec<String> = agent_arguments(arguments)
        .iter()
        .map(|text| quoted(text).replace('%', "%%").replace('$', "$$"))
        .collect();
    let line = line.join(" ");
    format!(
        "# /etc/systemd/system/prony-agent.service; the key is {KEY}, readable by root alone.\n\
         [Unit]\n\
         Description=Prony's agent for loads of a controller whose key it has\n\
         After=network-online.target\n\
         Wants=network-online.target\n\
         \n\
         [Service]\n\
         ExecStart=/usr/local/bin/prony {}\n\
         DynamicUser=yes\n\
         StateDirectory=prony\n\
         Environment=XDG_STATE_HOME=%S/prony\n\
         LoadCredential=agent.key:{KEY}\n\
         Restart=always\n\
         RestartSec=5\n\
         LimitNOFILE=65536\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome=yes\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        line.replace(&quoted(KEY), "\"%d/agent.key\"")
    )
}
